"""What is wrong is said in one line with exit 2; nothing is half-written, no input is touched."""

import json
import os
from pathlib import Path

import pytest

from cli_runner import Invoke, Ran
from shared_data import ROOT, fixture

TRACES = "examples/traces"
ONE = "examples/made/retry_marker.json"
PATTERN = "pattern mine v1\nmatch\n  TOOL\n"


def _refused(ran: Ran, message: str) -> None:
    assert ran.code == 2
    assert message in ran.err
    assert len(ran.err.splitlines()) == 1
    assert ran.err.startswith("tracegraph: ")
    assert ran.out == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "No such command 'nonsense'; see: tracegraph --help"),
        (["inspect"], "Missing argument 'TRACE'; see: tracegraph inspect --help"),
        (["query", "error", TRACES, "--nonsense"], "--nonsense"),
        (["query", "error", TRACES, "--limit", "abc"], "--limit"),
        (["query", "error", TRACES, "--limit", "-1"], "--limit"),
        (["query", "error", TRACES, "--limit", "1" + "0" * 30], "--limit"),
        (["query", "error", TRACES, "--format", "xml"], "'xml' is not one of 'table', 'json'"),
        (["traces", TRACES, "--keep", "all"], "'all' is not one of 'structure', 'errors'"),
        (["presets", "nonsense"], "see: tracegraph presets --help"),
        (["cypher", "RETURN 1", TRACES, "--timeout", "-1"], "--timeout"),
        (["cypher", "RETURN 1", TRACES, "--timeout", "soon"], "--timeout"),
        (["cypher", "RETURN $x", TRACES, "--param", "x=" + "[" * 100_000], "nests too deeply"),
        (["cypher", "RETURN '\udcff'", TRACES], "line 1, column 9: the text is not valid UTF-8"),
        (["cypher", "RETURN $x", TRACES, "--param", "x=\udcff"], "half of a surrogate pair"),
        (["query", "error", ""], "an empty path"),
        (["query", "error", TRACES, "-o", ""], "is a folder"),
        (["inspect", f"{TRACES}#\udcff"], "no trace"),
        (["why", f"{ONE}#zzz"], f"{ONE}: no trace 'zzz'; there is "),
        (["why", f"{TRACES}#93b2117217ca0c0ac0340db0b1a7c725"], "did you mean 93b2117217ca0c0ac0"),
        (["why", f"{TRACES}#session=interupt_resume"], "did you mean interrupt_resume?"),
        (["query", "error", f"{TRACES}#session=x"], 'where trace.session_id == "x"'),
        (["query", "error", ONE, "--map", "x.toml"], "ingest PATHS --map FILE --into CORPUS"),
        (["cypher"], "no traces are named: tracegraph cypher QUERY PATHS"),
    ],
)
def test_wrong_use_is_one_line(invoke: Invoke, arguments: list[str], message: str) -> None:
    _refused(invoke(*arguments), message)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"PK\x03\x04\x14\0\0\0\0\0" + b"\0" * 40, "a ZIP file without an Inspect log"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "binary, and no text"),
    ],
)
def test_what_is_no_text_is_not_sent_to_a_mapping(
    invoke: Invoke, content: bytes, what: str
) -> None:
    Path("x.bin").write_bytes(content)
    for arguments in (["traces", "x.bin"], ["ingest", "--map-template", "x.bin"]):
        ran = invoke(*arguments)
        _refused(ran, f"x.bin: no known trace format: {what}\n")


def test_utf_16_may_be_a_log(invoke: Invoke) -> None:
    Path("x.csv").write_bytes("a,b\n1,2\n".encode("utf-16"))
    _refused(invoke("traces", "x.csv"), "--map-template FILE")
    _refused(invoke("ingest", "--map-template", "x.csv"), "save it as UTF-8")


def test_one_path_twice_is_said_to_be_lossy_once(invoke: Invoke) -> None:
    log = str(ROOT / "tests" / "fixtures" / "otlp" / "made_signals.jsonl")
    wanted = f"in {Path(log).name}, of no trace alone: "
    trace = json.loads(invoke("traces", log, "--format", "json").out)["traces"][0]["trace_id"]
    one = f"{log}#{trace}"
    for arguments in (
        ["diff", one, one],
        ["check", one, "--baseline", one, "--rule", "max-steps:1000"],
    ):
        assert invoke(*arguments).err.count(wanted) == 1


def test_the_help_of_cypher_does_not_call_the_query_required(invoke: Invoke) -> None:
    ran = invoke("cypher", "--help")
    assert "[QUERY] [PATHS]..." in ran.out
    assert "[required]" not in ran.out


def test_without_a_command_the_help_is_shown(invoke: Invoke) -> None:
    ran = invoke()
    assert (ran.code, ran.out) == (2, "")
    assert "Commands:" in ran.err


@pytest.mark.parametrize("seconds", ["inf", "1e300", "0.0001"])
def test_a_bound_on_time_may_be_of_any_size(invoke: Invoke, seconds: str) -> None:
    ran = invoke("cypher", "RETURN 1 AS one", TRACES, "--timeout", seconds)
    assert ran.code == 0, ran.err


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        (["query", "mine.tgp", ONE], "mine.tgp"),
        (["query", "mine.tgp#mine", ONE], "mine.tgp"),
        (["query", "mine.tgp", ONE, "--explain-plan"], "link.tgp"),
        (["presets", "lint", "mine.tgp"], "mine.tgp"),
        (["presets", "lint", "."], "mine.tgp"),
        (["query", "error", ONE], ONE),
        (["query", "error", "."], "cut.json"),
        (["traces", ONE], "hard.json"),
        (["ingest", ONE], ONE),
        (["inspect", ONE], ONE),
        (["cypher", "RETURN 1", ONE], ONE),
    ],
)
def test_no_output_takes_the_place_of_what_was_read(
    invoke: Invoke, folder: Path, arguments: list[str], output: str
) -> None:
    (folder / "mine.tgp").write_text(PATTERN)
    (folder / "link.tgp").symlink_to("mine.tgp")
    (folder / "hard.json").hardlink_to(folder / ONE)
    (folder / "cut.json").write_text('{"kind": "tracegraph.trace", "schema_version": 1, "trace"')
    before = _files(folder)
    ran = invoke(*arguments, "-o", output)
    assert ran.code == 2
    assert f"tracegraph: {output}: is an input" in ran.err
    assert _files(folder) == before


def test_the_answer_to_an_earlier_query_may_be_replaced(invoke: Invoke) -> None:
    for _ in range(2):
        assert invoke("query", "error", TRACES, "-o", f"{TRACES}/answer.csv").code == 0


def test_an_output_may_have_the_longest_name_there_is(invoke: Invoke, folder: Path) -> None:
    name = "x" * (os.pathconf(folder, "PC_NAME_MAX") - 5) + ".json"
    assert invoke("query", "error", TRACES, "-o", name).code == 0
    assert json.loads((folder / name).read_text())["match_count"] == 8
    _refused(invoke("query", "error", TRACES, "-o", name + "x"), "cannot be written")


def test_names_that_are_no_text_are_read_kept_and_shown(invoke: Invoke, folder: Path) -> None:
    odd = folder / os.fsdecode(b"odd\xff")
    try:
        odd.mkdir()
    except OSError:
        pytest.skip("the file system takes only names that are text")
    (odd / os.fsdecode(b"\xfe.json")).write_bytes((folder / ONE).read_bytes())
    (odd / os.fsdecode(b"\xfd.txt")).write_text("no trace")
    for _ in range(2):  # the second time from the cache
        ran = invoke("traces", str(odd), "--format", "jsonl")
        assert ran.code == 0, ran.err
        assert json.loads(ran.out)["file"] == r"\xfe.json"
        assert r"skipped \xfd.txt: no known trace format" in ran.err
    assert len(json.loads(invoke("cache", "show", "--format", "json").out)["corpora"]) == 1
    assert (
        invoke("cypher", "MATCH (t:Trace) RETURN t.file", str(odd)).out.split()[1] == r"\xfe.json"
    )
    assert invoke("ingest", str(odd), "--into", "corpus").code == 0
    assert invoke("ingest", str(odd), "--into", "corpus").code == 0
    assert invoke("traces", "corpus", "--format", "jsonl").out == ran.out


def test_a_corpus_needs_a_name_that_is_text(
    invoke: Invoke, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _refused(invoke("ingest", ONE, "--into", "odd\udcff"), "needs a path that is UTF-8 text")
    monkeypatch.setenv("TRACEGRAPH_CACHE_DIR", str(folder / "odd\udcff"))
    ran = invoke("query", "error", ONE)
    assert ran.code == 0
    assert ran.err.startswith("the cache is not used: ")
    assert not [name for name in os.listdir(folder) if name.startswith("odd")]


@pytest.mark.parametrize(
    "damage",
    [
        lambda corpus: (corpus / "corpus.json").write_text("{"),
        lambda corpus: (corpus / "corpus.json").write_text(""),
        lambda corpus: (corpus / "segments/0/hot.arrow").unlink(),
        lambda corpus: (corpus / "segments/0/hot.arrow").write_bytes(b"ARROW1"),
    ],
)
def test_what_mends_a_damaged_corpus_is_said_and_true(
    invoke: Invoke, folder: Path, damage: object
) -> None:
    assert invoke("ingest", ONE, "--into", "corpus").code == 0
    assert callable(damage)
    damage(folder / "corpus")
    for arguments in (["traces", "corpus"], ["ingest", ONE, "--into", "corpus"]):
        _refused(invoke(*arguments), "remove the folder and ingest its files again")
    for path in sorted((folder / "corpus").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    assert invoke("ingest", ONE, "--into", "corpus").code == 0
    assert invoke("traces", "corpus").code == 0


def test_the_presets_that_ship_are_linted_in_every_form(invoke: Invoke) -> None:
    linted = json.loads(invoke("presets", "lint", "--format", "json").out)
    (library,) = linted["files"]
    assert "tool-failure@1" in library["patterns"]
    assert library["errors"] == []


def test_lint_names_a_file_once(invoke: Invoke, folder: Path) -> None:
    (folder / "latin.tgp").write_bytes(b'pattern p v1\nmatch\n  TOOL where name == "\xe9"\n')
    (folder / "away.tgp").symlink_to("gone.tgp")  # met in a folder, it costs only itself
    ran = invoke("presets", "lint", ".", "--format", "json")
    assert ran.code == 1
    found = {file["file"]: file["errors"] for file in json.loads(ran.out)["files"]}
    assert found["latin.tgp"][0]["message"] == "is not UTF-8 text (byte 41)"
    assert found["away.tgp"][0]["message"] == "cannot be read: No such file or directory"
    assert found["examples/patterns/recovered-by-model.tgp"] == []
    _refused(
        invoke("query", "latin.tgp", ONE), "tracegraph: latin.tgp: is not UTF-8 text (byte 41)"
    )


CASES = [
    "01-otlp-id-encodings/input.base64.json",
    "01-otlp-id-encodings/input.hex.json",
    "02-int64-as-string/input.json",
    "03-missing-middle-parent/input.json",
    "04-clock-skew/input.json",
    "05-duplicate-span-ids/input.jsonl",
    "07-surrogates-nul-escapes/input.badutf8.json",
    "07-surrogates-nul-escapes/input.json",
    "08-tool-error-as-data/input.json",
    "11-langgraph-interrupt-as-error/input.json",
    "18-exception-event-without-status/input.json",
]


@pytest.mark.parametrize("case", CASES)
def test_strictness_judges_files_cache_and_corpus_alike(invoke: Invoke, case: str) -> None:
    path = str(fixture(f"cases/{case}"))
    read = invoke("traces", path, "--no-cache", "--strict")
    assert invoke("ingest", path, "--into", "corpus").code == 0
    assert invoke("traces", path).code == 0
    cached = invoke("traces", path, "--strict")
    assert (cached.code, cached.err) == (read.code, read.err)
    assert invoke("traces", "corpus", "--strict").code == read.code

"""Canaries in every free text of every format, looked for in every byte that commands write.

Three promises of DESIGN: no file holds a body by default; a report or an export holds no text of
the source but names that are shaped like identifiers (profile safe-v1); error text is in the files
that are said to keep it, in local answers, and nowhere else.
"""

import json
import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from privacy.places import FORMATS, Planted, plant, tracegraph, tracegraph_alone, written
from privacy.planting import UNHEARD_OF, Role
from tracegraph.cli.check import SUMMARY, CheckForm
from tracegraph.cli.options import Drawn
from tracegraph.export.table import Format

EACH = pytest.mark.parametrize("name", FORMATS)
RULES = (
    "failures-not-increased pattern-not-increased:tool-failure pattern-not-increased:error "
    "topology-unchanged topology-unchanged:shape max-tokens:+10% max-cost:5 max-duration:30s "
    "max-steps:+1%"
).split()
FIELDS = "name agent model error.type error.message tool_call_id args docs result signals".split()
EVERYTHING = "s: ANY return " + ", ".join(f"$s.{field}" for field in FIELDS)
# Of the text of a source these are what reports of it may not hold even where names stay.
TEXTS = (Role.BODY, Role.ERROR)


@pytest.fixture(scope="module", params=["sentences", "secrets"])
def planted(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Planted]:
    """Planted inputs, a cache of their own, and a folder to be in."""
    home = tmp_path_factory.mktemp("planted")
    with pytest.MonkeyPatch.context() as patch:
        for variable in list(os.environ):
            if variable.startswith("TRACEGRAPH_"):
                patch.delenv(variable)
        patch.setenv("TRACEGRAPH_CACHE_DIR", str(home / "cache"))
        patch.chdir(home)
        yield plant(home / "in", words=request.param == "sentences")


@EACH
def test_no_report_holds_a_text_of_the_source(
    planted: Planted, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even one that is made from a cache that holds every text."""
    monkeypatch.setenv(SUMMARY, f"{name}.summary.md")
    # A secret that is taken for a name stands in every form alike; sentences are cut and escaped.
    all_forms = planted.planter.words
    for arguments in _reports(planted.folder / name, planted.traces[name], all_forms=all_forms):
        said = tracegraph(*arguments, "--keep", "content")
        assert said.code in {0, 1, 3}, said.text
        assert planted.found(said.text) == {}, shlex.join(map(str, arguments))
    for trace in planted.traces[name][:2]:
        assert planted.found(tracegraph("digest", trace, "--format", "json").text) == {}
    assert planted.found(Path(f"{name}.summary.md").read_bytes()) == {}


def _reports(folder: Path, traces: list[str], *, all_forms: bool) -> Iterator[list[object]]:
    first, last = traces[0], traces[-1]
    rules = [word for rule in RULES for word in ("--rule", rule)]
    for trace in traces[:8]:
        yield ["analyze", trace, "--format", "json"]
    for form in Format if all_forms else [Format.JSON]:
        yield ["analyze", last, "--baseline", first, "--format", form]
        yield ["diff", first, last, "--format", form]
        yield ["summarize", "error", folder, "--format", form]
    for shape in CheckForm if all_forms else [CheckForm.SARIF, CheckForm.GITHUB]:
        yield ["check", first, "--baseline", last, *rules, "--format", shape]
    yield ["analyze", first]
    yield ["check", last, "--baseline", first, *rules, "--format", "json"]
    yield ["summarize", "tool-failure", folder, "--format", "json"]


@EACH
def test_no_export_holds_a_text_of_the_source(planted: Planted, name: str) -> None:
    for trace in planted.traces[name][:8]:
        said = tracegraph("export-incident-memo", trace, "-o", "memo.md")
        assert said.code == 0, said.text
        assert planted.found(said.text.encode() + Path("memo.md").read_bytes()) == {}
        said = tracegraph("export-review-candidates", "tool-failure", trace, "-o", "found.json")
        assert planted.found(said.text, TEXTS) == {}  # a name that is refused is quoted
        if said.code == 0:
            assert planted.found(Path("found.json").read_bytes()) == {}


def test_a_diagnosis_of_what_px_gives_holds_no_text_of_it(
    planted: Planted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export = planted.folder / "phoenix" / "made_px_trace_list.json"
    px = tmp_path / "px"
    px.write_text(
        f"#!{sys.executable}\nimport sys\n"
        f'print("1.4.0" if sys.argv[1:] == ["--version"] else open({str(export)!r}).read())\n'
    )
    px.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    files = tmp_path / "safe.json", tmp_path / "report.json"
    outputs = ["--save-artifact", files[0], "--json-out", files[1]]
    for form in Format:
        said = tracegraph("phoenix", "diagnose", "--format", form, *outputs)
        assert said.code == 0, said.text
        assert planted.found(said.text) == {}
        assert [planted.found(file.read_bytes()) for file in files] == [{}, {}]
    assert tracegraph("inspect", files[0]).code == 0


@pytest.mark.parametrize("form", ["table", "json"])
def test_no_local_answer_holds_a_body(planted: Planted, form: str) -> None:
    """Names and errors stand in them as recorded; for bodies there is ``context``."""
    everything = ""
    for arguments in _local_answers(planted, form):
        said = tracegraph(*arguments, "--format", form)
        assert said.code in {0, 1}, said.text
        assert planted.found(said.text, [Role.BODY]) == {}, shlex.join(map(str, arguments))
        everything += said.text
    # What is looked for would be found.
    seen = {token[7] for token in planted.found(everything)}
    assert seen >= {Role.ERROR, Role.NAME} if planted.planter.words else seen == {Role.ERROR}


def _local_answers(planted: Planted, form: str) -> Iterator[list[object]]:
    folder = planted.folder
    yield ["query", "-e", EVERYTHING, folder]
    yield ["cypher", "MATCH (s:Step) RETURN s", folder]
    yield ["cypher", "MATCH (t:Trace) RETURN t", folder]
    yield ["traces", folder]
    yield ["traces", "--by-session", folder]
    yield ["ingest", folder]
    for traces in planted.traces.values():
        for trace in traces[:3]:
            yield ["why", trace]
            yield ["inspect", trace]
        if form == "table":
            yield ["inspect", traces[0], "--errors"]


@EACH
@pytest.mark.parametrize("form", [Drawn.MERMAID, Drawn.DOT])
def test_no_drawing_holds_a_body(planted: Planted, name: str, form: Drawn) -> None:
    for trace in planted.traces[name][:2]:
        said = tracegraph("inspect", trace, "--format", form)
        assert said.code == 0, said.text
        assert planted.found(said.text, [Role.BODY]) == {}


def test_listings_hold_no_error_text(planted: Planted) -> None:
    """They are local answers and name things, but a message belongs to the step that failed."""
    for command in (["traces"], ["traces", "--by-session"], ["ingest"]):
        said = tracegraph(*command, planted.folder, "--format", "json")
        assert planted.found(said.text, TEXTS) == {}, command


def test_a_validation_names_fields_and_quotes_no_value(planted: Planted) -> None:
    for form in Format:
        said = tracegraph("validate", planted.folder, "--format", form)
        assert said.code == 1, said.text
        found = planted.found(said.text)
        assert {place.rpartition(".")[2] for place in found.values()} == {UNHEARD_OF}


@pytest.mark.parametrize(
    ("keep", "absent"), [("structure", TEXTS), ("errors", [Role.BODY]), ("content", [])]
)
def test_a_file_holds_what_it_is_said_to_keep(
    planted: Planted, keep: str, absent: list[Role], tmp_path: Path
) -> None:
    """A corpus with its graph, an artifact of each trace."""
    into = ["--into", tmp_path / "corpus", "--keep", keep]
    said = tracegraph_alone("ingest", planted.folder, *into, cache=tmp_path / "unused")
    assert said.code == 0, said.text
    files = written(tmp_path / "corpus")
    assert any(file.endswith(".kuzu") for file in files)
    for name, traces in planted.traces.items():
        for trace in traces[:2] + traces[-1:]:
            path, _, trace_id = trace.partition("#")
            output = ["--trace", trace_id, "-o", "made.json", "--keep", keep]
            said = tracegraph("ingest", path, *output)
            assert said.code == 0, said.text
            files[f"artifact of {name} {trace_id}"] = Path("made.json").read_text(encoding="utf-8")
    for file, text in files.items():
        assert planted.found(text, absent) == {}, file
    kept = {token[7] for token in planted.found("".join(files.values()))}
    assert set(TEXTS) - kept == set(absent)  # what is looked for would be found


def test_a_cache_holds_no_body_and_context_writes_nothing(planted: Planted, tmp_path: Path) -> None:
    folder = planted.folder
    count = tracegraph_alone("cypher", "MATCH (s:Step) RETURN s", folder, cache=tmp_path)
    assert count.code == 0, count.text
    before = written(tmp_path)
    assert before
    for file, text in before.items():
        assert planted.found(text, [Role.BODY]) == {}, file
    shown = ""
    for traces in planted.traces.values():
        path, _, trace_id = traces[0].partition("#")
        where = f"MATCH (s:Step {{trace_id: {json.dumps(trace_id)}}}) RETURN s.step_id"
        assert tracegraph("cypher", where, path, "-o", "steps.json").code == 0
        for (step_id,) in json.loads(Path("steps.json").read_text(encoding="utf-8"))["rows"][:3]:
            shown += tracegraph("context", traces[0], step_id, "--full").text
    assert planted.found(shown, [Role.BODY])
    assert written(tmp_path) == before

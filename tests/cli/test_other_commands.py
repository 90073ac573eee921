import json
import shutil
import sys
from pathlib import Path

import pytest

from cli_runner import Invoke

TRACES = "examples/traces"
RECOVER = "examples/traces/tool_error_recover.otlp.json"


class _Terminal:
    """Standard input as a terminal on which somebody types."""

    def __init__(self, *lines: str) -> None:
        self._lines = iter(lines)

    def isatty(self) -> bool:
        return True

    def readline(self) -> str:
        return next(self._lines, "")


def test_cypher_answers_with_rows(invoke: Invoke) -> None:
    statement = "MATCH (s:Step) RETURN s.kind AS kind, count(*) AS n ORDER BY kind"
    ran = invoke("cypher", statement, TRACES, "--format", "json")
    assert ran.code == 0
    result = json.loads(ran.out)
    assert result["columns"] == ["kind", "n"]
    assert result["rows"] == [["AGENT", 12], ["CHAIN", 30], ["LLM", 13], ["TOOL", 11]]
    assert ran.err == "4 rows\n"
    assert invoke("cypher", statement, TRACES).out.splitlines()[1].split() == ["AGENT", "12"]


def test_cypher_shows_nodes_without_the_engines_columns(invoke: Invoke) -> None:
    statement = "MATCH (s:Step) WHERE s.name = $name RETURN s, [s.started_at] AS times LIMIT 1"
    ran = invoke("cypher", statement, TRACES, "--param", "name=slow", "--format", "jsonl")
    row = json.loads(ran.out)
    assert row["s"]["label"] == "Step"
    assert row["s"]["name"] == "slow"
    assert not [key for key in row["s"] if key.startswith("_")]
    assert row["times"][0].startswith("2026-") and row["times"][0].endswith("Z")


def test_cypher_reads_parameters_as_json_or_text(invoke: Invoke) -> None:
    statement = "RETURN $a + 1 AS a, $b AS b, size($c) AS c"
    ran = invoke(
        "cypher", statement, TRACES, "--param", "a=41", "--param", "b=x y", "--param", "c=[1,2]",
        "--format", "json",
    )  # fmt: skip
    assert json.loads(ran.out)["rows"] == [[42, "x y", 2]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["CREATE (:Step {_key: 1})", TRACES], "must be one of MATCH"),
        (["MATCH (s:Step) WHERE s.name = $name RETURN s", TRACES], "--param name="),
        (["MATCH (s:Stepp) RETURN s", TRACES], "Stepp"),
        (["MATCH (s:Step) RETURN s"], "no such path; a query needs PATHS behind it"),
        ([TRACES], "put a QUERY before it"),
    ],
)
def test_cypher_refuses_in_one_line(invoke: Invoke, arguments: list[str], message: str) -> None:
    ran = invoke("cypher", *arguments)
    assert ran.code == 2
    assert message in ran.err
    assert len(ran.err.splitlines()) == 1


def test_the_shell_answers_and_survives_mistakes(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = iter(
        [
            ":schema",
            ":what",
            "MATCH (s:Step)",
            "RETURN count(*) AS n;",
            "MATCH (x:Nothing) RETURN x;",
            "RETURN 7 AS seven",
            "",
            ":quit",
            "RETURN 8 AS eight;",
        ]
    )
    monkeypatch.setattr(sys, "stdin", _Terminal())
    monkeypatch.setattr("builtins.input", lambda _: next(lines))
    ran = invoke("cypher", TRACES)
    assert ran.code == 0
    assert "(:Step)-[:IN_TRACE]->(:Trace)" in ran.out
    assert "n\n66\n" in ran.out
    assert "seven\n7\n" in ran.out
    assert "eight" not in ran.out
    assert "Nothing" in ran.err


def test_traces_lists_what_is_there(invoke: Invoke) -> None:
    ran = invoke("traces", TRACES)
    assert ran.code == 0
    assert len(ran.out.splitlines()) == 1 + 7
    assert ran.err == "7 traces, 66 steps, 8 failing\n"
    ran = invoke("traces", TRACES, "--limit", "2", "--format", "json")
    result = json.loads(ran.out)
    assert (result["trace_count"], len(result["traces"])) == (7, 2)
    assert ran.err.endswith("; 2 listed\n")


def test_one_id_of_two_files_is_told_apart(invoke: Invoke, folder: Path) -> None:
    made = (folder / "examples/made/retry_marker.json").read_text()
    (folder / "a").mkdir()
    (folder / "a" / "one.json").write_text(made)
    (folder / "a" / "two.json").write_text(made.replace('"search-1"', '"search-x"'))
    (folder / "a" / "three.json").write_text(made.replace('"artifact"', '"elsewhere"'))
    ran = invoke("traces", "a", "--format", "jsonl")
    labels = [json.loads(line)["label"] for line in ran.out.splitlines()]
    assert labels == [
        "made-retry-marker@one.json",
        "made-retry-marker@elsewhere",
        "made-retry-marker@two.json",
    ]
    ran = invoke("query", "tool-retry-failure", "a", "--format", "jsonl")
    assert [json.loads(line)["trace_id"] for line in ran.out.splitlines()] == labels
    for label in labels:
        assert invoke("inspect", f"a#{label}").out.startswith(label)


def test_inspect_draws_the_tree_with_evidence(invoke: Invoke) -> None:
    ran = invoke("inspect", RECOVER)
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0] == "6f3d4ceebcd24ca896e0935518f8c813 (otlp, ok, full)"
    assert len(lines) == 1 + 14 + 1
    failing = [line for line in lines if "TOOL get_weather error" in line]
    assert len(failing) == 1
    assert "<ValueError: unknown city: Atlantis>" in failing[0]
    assert "@b2b4a13d9bbd75a2 [containment, 1 of 2 causes]" in failing[0]
    assert lines[-1].startswith("14 steps, 3 LLM, 2 TOOL, 1 failing, 21 causes")
    assert "\x1b" not in ran.out


def test_inspect_needs_one_trace(invoke: Invoke) -> None:
    ran = invoke("inspect", TRACES)
    assert ran.code == 2
    assert (
        "holds 7 traces, name one as examples/traces#ID: 74472faabcefe8ba03d767fc4be556d2"
        in ran.err
    )
    assert invoke("inspect", f"{TRACES}#6f3d").out == invoke("inspect", RECOVER).out
    assert invoke("inspect", f"{TRACES}#nothing").code == 2


def test_inspect_gives_every_step_and_cause_as_json(invoke: Invoke) -> None:
    result = json.loads(invoke("inspect", RECOVER, "--format", "json").out)
    assert len(result["steps"]) == 14
    assert len(result["causes"]) == 21
    assert {cause["evidence"] for cause in result["causes"]} >= {"containment", "derived"}
    assert all(step["input"] is None for step in result["steps"])
    kept = invoke("inspect", RECOVER, "--format", "json", "--keep", "content")
    assert any(step["input"] for step in json.loads(kept.out)["steps"])


def _deep(levels: int) -> str:
    steps = [{"step_id": f"s{i}", "kind": "CHAIN", "name": f"n{i}"} for i in range(levels)]
    causes = [
        {"effect": f"s{i}", "cause": f"s{i - 1}", "origin": "span_parent"} for i in range(1, levels)
    ]
    trace = {"trace_id": "deep", "source": "made"}
    return json.dumps(
        {
            "kind": "tracegraph.trace",
            "schema_version": 1,
            "trace": trace,
            "steps": steps,
            "causes": causes,
        }
    )


def test_inspect_of_a_deep_tree_cuts_nothing(invoke: Invoke, folder: Path) -> None:
    (folder / "deep.json").write_text(_deep(3000))
    ran = invoke("inspect", "deep.json")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert len(lines) == 1 + 3000 + 1
    assert "[depth 2999] CHAIN n2999 unset @s2999 [containment]" in lines[-2]
    assert max(map(len, lines)) < 200
    assert "2999 levels deep" in ran.err


def test_a_long_message_is_cut_with_its_length(invoke: Invoke, folder: Path) -> None:
    made = json.loads((folder / "examples/made/retry_marker.json").read_text())
    made["steps"][2]["error_message"] = "x" * 1000
    (folder / "long.json").write_text(json.dumps(made))
    assert "(+800 characters)" in invoke("inspect", "long.json").out


def test_ingest_into_makes_a_corpus_that_answers(invoke: Invoke, folder: Path) -> None:
    ran = invoke("ingest", TRACES, "--into", "corpus")
    assert ran.code == 0
    assert "steps          66" in ran.out
    assert (folder / "corpus" / "corpus.json").is_file()
    ran = invoke("query", "tool-failure", "corpus", "--format", "json")
    result = json.loads(ran.out)
    assert result["match_count"] == 6
    assert result["plan"]["backend"] == "cypher"
    assert invoke("ingest", TRACES, "--into", "corpus").code == 0


def test_ingest_writes_one_portable_artifact(invoke: Invoke, folder: Path) -> None:
    assert invoke("ingest", RECOVER, "-o", "one.json").code == 0
    there = json.loads(invoke("inspect", RECOVER, "--format", "json").out)
    again = json.loads(invoke("inspect", "one.json", "--format", "json").out)
    assert again["steps"] == there["steps"]
    assert again["causes"] == there["causes"]
    ran = invoke("ingest", TRACES, "-o", "x.json")
    assert ran.code == 2
    assert "holds 7 traces, name one as --trace ID: 7447" in ran.err
    assert not (folder / "x.json").exists()
    assert invoke("ingest", TRACES, "-o", "x.json", "--trace", "6f3d").code == 0
    assert (folder / "x.json").read_bytes() == (folder / "one.json").read_bytes()


def test_ingest_says_what_was_read_and_what_not(invoke: Invoke, folder: Path) -> None:
    (folder / TRACES / "note.txt").write_text("no trace")
    ran = invoke("ingest", TRACES, "--format", "json")
    result = json.loads(ran.out)
    assert (result["file_count"], result["trace_count"], result["step_count"]) == (6, 7, 66)
    assert [entry["file"] for entry in result["skipped"]] == ["note.txt"]
    assert invoke("ingest", TRACES, "--into", "a", "-o", "b").code == 2
    assert invoke("ingest", TRACES, "--trace", "x").code == 2


def test_strict_refuses_what_was_disclosed(invoke: Invoke, folder: Path) -> None:
    made = json.loads((folder / "examples/made/retry_marker.json").read_text())
    made["steps"][0]["kind"] = "NONSENSE"
    (folder / "odd.json").write_text(json.dumps(made))
    assert "gaps: artifact.unknown_word 1" in invoke("traces", "odd.json").err
    ran = invoke("traces", "odd.json", "--strict")
    assert ran.code == 2
    assert "odd.json" in ran.err


def test_presets_are_listed_shown_checked_and_tried(invoke: Invoke, folder: Path) -> None:
    listed = json.loads(invoke("presets", "list", "--format", "json").out)["presets"]
    assert {"tool-failure", "tool-retry-failure", "timeout"} <= {p["id"] for p in listed}
    assert invoke("presets").out == invoke("presets", "list").out
    shown = invoke("presets", "show", "tool-retry-failure")
    assert shown.out.startswith("pattern tool-retry-failure v2\n")
    (folder / "again.tgp").write_text(shown.out)
    assert invoke("presets", "lint", "again.tgp").code == 0
    assert invoke("presets", "lint").code == 0
    tried = json.loads(invoke("presets", "test", "tool-failure", "--format", "json").out)
    assert tried["failures"] == 0
    assert {each["backend"] for each in tried["examples"]} == {"matcher", "cypher"}
    assert invoke("presets", "show", "nothing").code == 2


def test_lint_names_the_place_of_a_mistake(invoke: Invoke, folder: Path) -> None:
    (folder / "bad.tgp").write_text("pattern bad v1\nmatch\n  a: TOOL where nam == $b.name\n")
    ran = invoke("presets", "lint", "bad.tgp", "examples/patterns", "--format", "json")
    assert ran.code == 1
    bad, good = json.loads(ran.out)["files"]
    assert bad["errors"][0]["line"] == 3
    assert good["patterns"] == ["recovered-by-model@1"]


def test_lint_of_a_file_that_is_not_there_is_refused(invoke: Invoke, folder: Path) -> None:
    ran = invoke("presets", "lint", "nope.tgp")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "tracegraph: nope.tgp: cannot be read: No such file or directory\n"


def test_patterns_of_ones_own_are_tried_on_the_examples_beside_them(
    invoke: Invoke, folder: Path
) -> None:
    text = invoke("presets", "show", "tool-retry-failure").out
    mine = folder / "mine"
    examples = mine / "my-retry.examples"
    examples.mkdir(parents=True)
    (mine / "my-retry.tgp").write_text(text.replace("tool-retry-failure", "my-retry"))
    ran = invoke("presets", "test", "mine/my-retry.tgp")
    assert ran.code == 2
    assert "no examples beside my-retry@2" in ran.err

    (examples / "README.md").write_text("Where these come from.")
    shutil.copy(folder / "examples/made/retry_marker.json", examples / "match-made.json")
    shutil.copy(folder / RECOVER, examples / "no-match-recovered.json")
    (mine / "other.tgp").write_text("pattern other v1\nmatch\n  TOOL\n")
    ran = invoke("presets", "test", "mine", "--format", "json")
    assert ran.code == 0
    assert [(e["example"], e["match_count"]) for e in json.loads(ran.out)["examples"]] == [
        ("match-made.json", 1),
        ("match-made.json", 1),
        ("no-match-recovered.json", 0),
        ("no-match-recovered.json", 0),
    ]
    assert ran.err == "4 runs, 0 failed\nwithout examples: other@1\n"

    (examples / "match-made.json").rename(examples / "no-match-made.json")
    assert invoke("presets", "test", "mine/my-retry.tgp").code == 1
    assert invoke("presets", "test", "examples").code == 2  # its pattern has no examples


def test_the_cache_is_shown_and_cleared(invoke: Invoke, folder: Path) -> None:
    invoke("traces", TRACES)
    (entry,) = json.loads(invoke("cache", "show", "--format", "json").out)["corpora"]
    assert entry["paths"] == [str((folder / TRACES).resolve())]
    assert entry["trace_count"] == 7
    assert invoke("cache").code == 0
    assert invoke("cache", "clear").err == "1 corpus removed\n"
    assert json.loads(invoke("cache", "show", "--format", "json").out)["corpora"] == []
    assert (folder / RECOVER).is_file()


def test_inspect_says_where_in_the_source_a_loss_was_met(invoke: Invoke, tmp_path: Path) -> None:
    recorded = Path(RECOVER).read_bytes()
    offset = recorded.index(b"get_weather")
    broken = tmp_path / "broken.json"
    broken.write_bytes(recorded[:offset] + b"\xff" + recorded[offset + 1 :])
    ran = invoke("inspect", str(broken))
    assert ran.code == 0
    assert f"note: broken.json: first invalid UTF-8 at byte {offset}" in ran.out.splitlines()

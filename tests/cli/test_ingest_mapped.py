"""``ingest --map-template`` and ``ingest --map``: a home-made log is a corpus in two commands."""

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from cli_runner import Invoke, run
from shared_data import ROOT, fixture
from trace_view import view
from tracegraph.workflows.load import load

HOME = "examples/home-made"
JSONL, CSV, CSV_MAP = f"{HOME}/steps.jsonl", f"{HOME}/calls.csv", f"{HOME}/calls.map.toml"
SECRET = "KANARI-hunter2"


def rows_of(path: Path | str) -> list[dict[str, Any]]:
    text = Path(path).read_text(encoding="utf-8")
    if str(path).endswith(".csv"):
        return list(csv.DictReader(text.splitlines()))
    return [json.loads(line) for line in text.splitlines()]


def report(ran_out: str) -> dict[str, Any]:
    path = ROOT / "contracts" / "ingest.v1.schema.json"
    found: dict[str, Any] = json.loads(ran_out)
    Draft202012Validator(json.loads(path.read_text(encoding="utf-8"))).validate(found)
    return found


def test_a_jsonl_is_a_corpus_in_two_commands(invoke: Invoke, folder: Path) -> None:
    one = invoke("ingest", "--map-template", JSONL, "-o", "my.map.toml")
    assert (one.code, one.out, one.err) == (0, "", "")
    two = invoke("ingest", JSONL, "--map", "my.map.toml", "--into", "corpus")
    assert two.code == 0
    rows = rows_of(JSONL)
    failing = [row for row in rows if row["ok"] is False]
    lines = [line.split() for line in two.out.splitlines()]
    assert ["read", "steps", str(len(rows))] in lines
    assert ["read", "failing", "steps", str(len(failing))] in lines
    assert ["column", "not", "used", "retries", "steps.jsonl"] in lines
    found = json.loads(invoke("query", "error", "corpus", "--format", "json").out)
    assert {match["steps"][0]["step_id"] for match in found["matches"]} == {
        str(row["id"]) for row in failing
    }
    assert found["match_count"] == len(failing)


def test_a_csv_is_a_corpus_in_two_commands(invoke: Invoke, folder: Path) -> None:
    assert invoke("ingest", "--map-template", CSV, "-o", "my.map.toml").code == 0
    assert invoke("ingest", CSV, "--map", "my.map.toml", "--into", "corpus").code == 0
    rows = rows_of(CSV)
    listed = json.loads(invoke("traces", "corpus", "--format", "json").out)["traces"]
    assert {t["trace_id"]: t["step_count"] for t in listed} == {
        run: sum(row["run"] == run for row in rows) for run in {row["run"] for row in rows}
    }
    asked = invoke("query", "tool-failure", "corpus", "--format", "json")
    failing = [row["tool"] for row in rows if row["status"] == "failed"]
    assert [m["values"]["tool"] for m in json.loads(asked.out)["matches"]] == failing
    ran = invoke("cypher", "MATCH (s:Step) RETURN count(s) AS n", "corpus", "--format", "json")
    assert json.loads(ran.out)["rows"] == [[len(rows)]]


def test_both_kinds_of_files_give_the_same_artifact(invoke: Invoke, folder: Path) -> None:
    made: list[dict[str, Any]] = []
    for name in ("made_all.jsonl", "made_all.csv"):
        arguments = ["--map", str(fixture("mapped/made.map.toml")), "--trace", "t1", "-o", "t.json"]
        ran = invoke("ingest", str(fixture(f"mapped/{name}")), *arguments, "--keep", "content")
        assert ran.code == 0
        assert invoke("validate", "t.json").code == 0
        artifact = json.loads((folder / "t.json").read_text(encoding="utf-8"))
        del artifact["trace"]["file"], artifact["trace"]["file_digest"]
        for each in artifact["steps"]:  # what is beside the bodies is as the file has it
            del each["attributes"]
        made.append(artifact)
    assert made[0] == made[1]


def test_the_report_names_what_was_not_mapped(invoke: Invoke, folder: Path) -> None:
    rows = [
        {"id": n, "name": "a", "ok": word, "ms": 1, "parent": None, "odd": 1, "other": 2}
        for n, word in enumerate(["yes", True, "no", "yes"])
    ]
    (folder / "log.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (folder / "m.toml").write_text(
        'version = 1\n[fields]\nname = "name"\nstatus = "ok"\nmodel = "llm"\n'
        "[status]\nok = [true]\n"
    )
    arguments = ["ingest", "log.jsonl", "--map", "m.toml"]
    found = report(invoke(*arguments, "--format", "json").out)
    used = {"name", "ok"}
    assert found["mapped"] == [
        {
            "file": "log.jsonl",
            "unused_columns": [key for key in rows[0] if key not in used],
            "more_unused_columns": False,
            "unusable_values": [
                {
                    "field": "status",
                    "column": "ok",
                    "code": "mapped.unknown_status",
                    "count": sum(row["ok"] is not True for row in rows),
                    "place": "line 1",
                },
                {
                    "field": "model",
                    "column": "llm",
                    "code": "mapped.absent_column",
                    "count": 1,
                    "place": "",
                },
            ],
        }
    ]
    table = invoke(*arguments).out
    assert "status = ok" in table
    assert "log.jsonl: mapped.unknown_status: 3 values, first in line 1" in table
    assert "yes" not in table
    said = invoke(*arguments, "-o", "t.json").err.splitlines()
    assert "column not used: odd: log.jsonl" in said
    where = "log.jsonl: mapped.unknown_status: 3 values, first in line 1"
    assert f"not mapped: status = ok: {where}" in said
    again = invoke(*arguments, "--into", "c", "--format", "json")
    kept = invoke(*arguments, "--into", "c", "--format", "json")
    assert report(again.out)["mapped"] == report(kept.out)["mapped"] == found["mapped"]
    assert invoke(*arguments, "--strict").code == 2


def test_a_report_without_a_mapping_says_nothing_of_it(invoke: Invoke) -> None:
    assert "mapped" not in report(invoke("ingest", "examples/traces", "--format", "json").out)


def test_the_same_mapping_reads_nothing_again_and_another_reads_anew(
    invoke: Invoke, folder: Path
) -> None:
    def opened(mapping: str) -> int:
        ran = invoke("ingest", CSV, "--map", mapping, "--into", "c", "--format", "json")
        assert ran.code == 0, ran.err
        count = report(ran.out)["opened_count"]
        assert isinstance(count, int)
        return count

    text = Path(CSV_MAP).read_text(encoding="utf-8")
    Path("same.toml").write_text("# another comment\n" + text)
    Path("other.toml").write_text(text.replace('default = "TOOL"', 'default = "CHAIN"'))
    assert [opened(m) for m in (CSV_MAP, CSV_MAP, "same.toml", "other.toml")] == [1, 0, 0, 1]
    with load(["c"]) as corpus:
        assert {s.kind for trace in corpus.traces() for s in trace.steps} == {"CHAIN"}


def test_a_corpus_takes_logs_and_traces_and_keeps_both(invoke: Invoke, folder: Path) -> None:
    assert invoke("ingest", HOME, "--map", CSV_MAP, "--into", "c").code == 0
    assert invoke("ingest", "examples/traces", "--into", "c").code == 0
    assert invoke("ingest", HOME, "examples/traces", "--into", "c").code == 0
    with load(["c"]) as corpus:
        found = {trace.source for trace in corpus.traces()}
    assert found == {"mapped", "otlp"}


def test_the_report_says_what_to_do(invoke: Invoke, folder: Path) -> None:
    rows = [{"id": 1, "ms": "350ms"}, {"id": 1, "ms": "0,5"}]
    (folder / "log.jsonl").write_text("\n".join(map(json.dumps, rows)))
    mapping = 'version = 1\n[fields]\nstep_id = "id"\nduration = "ms"\n[units]\nduration = "s"\n'
    (folder / "m.toml").write_text(mapping)
    table = invoke("ingest", "log.jsonl", "--map", "m.toml").out
    assert "mapped.unreadable_duration: 2 values, first in line 1; write a number" in table
    (folder / "log.jsonl").write_text(json.dumps(rows[0]) + '\n{"id": 1, "ms": 2}\n')
    table = invoke("ingest", "log.jsonl", "--map", "m.toml").out
    assert 'first in line 2; parts of one step? write same_id = "parts" under [rows]' in table
    (folder / "m.toml").write_text(mapping + '[rows]\nsame_id = "parts"\n')
    assert "duplicate" not in invoke("ingest", "log.jsonl", "--map", "m.toml").out


def test_a_start_and_a_duration_prove_the_end_to_a_rule(invoke: Invoke, folder: Path) -> None:
    rows = [{"id": n, "at": f"2026-11-30T10:00:0{n}Z", "ms": 1500} for n in range(3)]
    (folder / "log.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert invoke("ingest", "--map-template", "log.jsonl", "-o", "m.toml").code == 0
    assert invoke("ingest", "log.jsonl", "--map", "m.toml", "-o", "t.json").code == 0
    check = ["check", "t.json", "--baseline", "t.json", "--rule"]
    assert [invoke(*check, f"max-duration:{most}").code for most in ("3.5s", "3.4s")] == [0, 1]


def test_in_a_folder_a_file_that_does_not_fit_is_skipped_with_the_reason(
    invoke: Invoke, folder: Path
) -> None:
    logs = folder / "logs"
    logs.mkdir()
    shutil.copy(CSV, logs / "a.csv")
    (logs / "b.jsonl").write_text('{"x": 1, "y": 2}\n{"x": 3}\n')
    (logs / "c.bin").write_bytes(bytes(range(256)))
    found = report(invoke("ingest", "logs", "--map", CSV_MAP, "--format", "json").out)
    assert found["file_count"] == 1
    skipped = {each["file"]: each["reason"] for each in found["skipped"]}
    assert skipped["b.jsonl"] == "has none of the columns of the mapping (it has x, y)"
    assert set(skipped) == {"b.jsonl", "c.bin"}
    ran = invoke("ingest", "logs/b.jsonl", "--map", CSV_MAP)
    assert ran.code == 2
    assert ran.err.startswith("tracegraph: b.jsonl: has none of the columns of the mapping")
    assert ran.err.count("\n") == 1


def test_no_body_reaches_the_disk(invoke: Invoke, folder: Path, tmp_path: Path) -> None:
    row = {"id": 1, "name": "a", "input": f"{SECRET} in", "output": f"{SECRET} out"}
    other = {"id": 2, "name": "b", "note": f"{SECRET} unused", "ms": f"{SECRET} unusable"}
    (folder / "log.jsonl").write_text(json.dumps(row) + "\n" + json.dumps(other) + "\n")
    mapping = 'version = 1\n[fields]\nname = "name"\nargs = "input"\nresult = "output"\n'
    (folder / "m.toml").write_text(mapping + 'duration = "ms"\n[units]\nduration = "ms"\n')
    arguments = ["ingest", "log.jsonl", "--map", "m.toml"]
    said = [invoke(*arguments, *more) for more in ([], ["--into", "c"], ["-o", "t.json"])]
    assert {ran.code for ran in said} == {0}
    assert all(SECRET not in ran.out + ran.err for ran in said)
    written = [p for p in (*folder.glob("c/**/*"), folder / "t.json", *tmp_path.glob("cache/**/*"))]
    texts = [p.read_bytes() for p in written if p.is_file()]
    assert texts and not any(SECRET.encode() in text for text in texts)


def test_the_template_goes_to_standard_output_and_a_log_comes_from_there(folder: Path) -> None:
    log = Path(JSONL).read_text(encoding="utf-8")
    shown = run("ingest", "--map-template", "-", cwd=folder, stdin=log)
    assert (shown.code, shown.err) == (0, "")
    (folder / "m.toml").write_text(shown.out)
    read = run("ingest", "-", "--map", "m.toml", "-o", "t.json", cwd=folder, stdin=log)
    assert read.code == 0, read.err
    with load(["t.json"], cache=False) as corpus:
        (trace,) = corpus.traces()
        assert len(view(trace)["steps"]) == len(rows_of(JSONL))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--map-template"], "--map-template looks at one log"),
        (["--map-template", JSONL, CSV], "--map-template looks at one log"),
        (["--map-template", HOME], f"{HOME}: is a folder; name one of its files"),
        (["--map-template", "examples/traces/interrupt_resume.otlp.json"], "this is otlp: read it"),
        (["--map-template", "nowhere"], "nowhere: cannot be read"),
        (["--map-template", JSONL, "--into", "c"], "--into reads traces"),
        (["--map-template", JSONL, "--map", CSV_MAP], "--map reads traces"),
        (["--map-template", JSONL, "-o", JSONL], f"{JSONL}: is an input"),
        (["--map", CSV_MAP], "name PATHS to read"),
        (["--map", "nowhere.toml", CSV], "nowhere.toml: cannot be read"),
        (["--map", JSONL, CSV], f"{JSONL}: not TOML"),
        (["--map", CSV_MAP, "--sqlite", "x.db"], "--map "),
        (["--map", CSV_MAP, "corpus"], "tracegraph: corpus: a corpus already"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(
    invoke: Invoke, folder: Path, arguments: list[str], told: str
) -> None:
    assert invoke("ingest", "examples/made", "--into", "corpus").code == 0
    before = sorted(folder.rglob("*"))
    ran = invoke("ingest", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err and ran.err.count("\n") == 1
    assert sorted(folder.rglob("*")) == before


def test_a_log_that_no_adapter_knows_leads_to_the_mapping(invoke: Invoke) -> None:
    ran = invoke("query", "error", JSONL)
    assert ran.code == 2
    assert "tracegraph ingest --map-template" in ran.err

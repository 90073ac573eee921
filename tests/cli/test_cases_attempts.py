"""What commands say of attempts that were recorded as traces of their own (case 09)."""

import json
from pathlib import Path

from case_files import case
from cli.case_answers import FAILURES, answer
from cli_runner import Invoke


def test_09_attempts_in_traces_of_their_own_are_judged_as_one_run(invoke: Invoke) -> None:
    path = case("09")
    clean = f"{path}#{5:032x}"
    run = f"{path}#session=th-1"
    report = answer(invoke, "check", run, "--baseline", clean, *FAILURES, code=1)
    assert report["verdict"] == "FAIL"
    (rule,) = report["rules"]
    assert {(each["baseline"], each["current"]) for each in rule["evidence"]} == {(0, 4)}
    notes = {note["code"]: note["count"] for note in rule["limitations"]}
    assert notes["followed_by_success"] == 4
    assert "followed_in_session" not in notes
    assert "followed_by_success 4: failing steps with a later recorded success" in (
        invoke("check", run, "--baseline", clean, *FAILURES).out
    )
    assert answer(invoke, "inspect", run)["causes"] == []
    assert answer(invoke, "check", clean, "--baseline", run, *FAILURES)["verdict"] == "PASS"
    assert invoke("diff", run, run).code == 0
    assert invoke("diff", run, clean).code == 1


def test_09_a_run_of_several_traces_is_taken_wherever_a_trace_is(
    invoke: Invoke, folder: Path
) -> None:
    path = case("09")
    run = f"{path}#session=th"
    listing = answer(invoke, "inspect", run)
    header = listing["trace"]
    assert (header["trace_id"], header["label"]) == ("th-1", "session=th-1")
    step = listing["steps"][0]["step_id"]
    for arguments in (
        ("explain", run, step),
        ("context", run, step),
        ("why", run),
        ("analyze", run),
        ("digest", run),
        ("analyze", f"{path}#{1:032x}", "--baseline", run),
        ("ingest", str(path), "--trace", "session=th-1", "-o", "run.json"),
        ("validate", "run.json"),
    ):
        ran = invoke(*arguments)
        assert ran.code == 0, (arguments, ran.err)
    assert invoke("digest", "run.json").out == invoke("digest", run).out
    several = invoke("why", str(path))
    assert several.code == 2
    assert several.err.endswith("; or the traces of one session together: session=th-1\n")


def test_09_traces_may_lie_in_a_file_each(invoke: Invoke, folder: Path) -> None:
    whole = json.loads(case("09").read_text())
    spans = [
        one
        for resource in whole["resourceSpans"]
        for scope in resource["scopeSpans"]
        for one in scope["spans"]
    ]
    (folder / "in").mkdir()
    for at, one in enumerate(spans):
        export = {"resourceSpans": [{"scopeSpans": [{"spans": [one]}]}]}
        (folder / "in" / f"{at}.json").write_text(json.dumps(export))
    clean = f"in/{len(spans) - 1}.json"
    for path in ("in", "in/*.json"):
        ran = invoke("check", f"{path}#session=th-1", "--baseline", clean, *FAILURES)
        assert ran.code == 1, ran.err
        assert "followed_by_success 4" in ran.out
    assert invoke("check", "in", "--baseline", clean, *FAILURES).code == 2


def test_09_grouped_attempts_are_heuristic_and_leave_in_no_review(
    invoke: Invoke, folder: Path
) -> None:
    pattern = """pattern retried v1
  scope session
  confidence {confidence}
  export review
match
  xs: LLM {{4,}} same name where status == error
  ~>> LLM where status == ok and name == $xs.name
"""
    for confidence, told in (
        ("heuristic", "export review demands confidence exact"),
        ("exact", "confidence exact does not admit"),
    ):
        (folder / "p.tgp").write_text(pattern.format(confidence=confidence))
        ran = invoke("export-review-candidates", "p.tgp", str(case("09")), "-o", "c.json")
        assert ran.code == 2
        assert told in ran.err
    assert not (folder / "c.json").exists()

"""A check in the forms of CI systems: JUnit XML, SARIF 2.1.0, workflow commands, Markdown."""

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree as ET

import pytest

from analysis.check.judging import judge
from made_runs import LONG, Run, failed
from tracegraph.export.check import Checked
from tracegraph.export.check_github import check_annotations
from tracegraph.export.check_junit import check_junit
from tracegraph.export.check_sarif import FINGERPRINT, check_sarif
from tracegraph.export.check_text import check_lines, check_markdown
from tracegraph.model.trace import Trace

CANARY = "CANARY me@example.org sk-123"
RULES = [
    "failures-not-increased",
    "pattern-not-increased:tool-failure",
    "topology-unchanged:shape",
    "max-steps:40",
    "max-steps:1",
    "max-cost:1",
]
HOSTILE = "t\x00\x1b[31m\ufffe]]>&<\"'\r\n::error::%0A,:"


def _run(status: str, prefix: str = "s", trace_id: str = "run", retries: int = 1) -> Trace:
    run = Run(session_id=CANARY)
    run.step(f"{prefix}0", "AGENT", name="agent", at=LONG)
    run.step(f"{prefix}1", "LLM", name="chat", inside=f"{prefix}0")
    for number in range(retries):
        step_id = f"{prefix}t{number}"
        fields = failed(CANARY, CANARY) if status == "error" else {"status": status}
        asked = [(f"{prefix}1", "tool_call_id")]
        run.step(step_id, name=CANARY, inside=f"{prefix}0", after=asked, **fields)
    columns = run.columns()
    columns.trace_id = [trace_id]
    return Trace(columns, 0)


def _told(current: Trace, baseline: Trace, *rules: str) -> Checked:
    return Checked(judge(current, baseline, *(rules or RULES)), ("a" * 64, "b" * 64))


@pytest.fixture(scope="module")
def told() -> Checked:
    return _told(_run("error"), _run("ok"))


def _junit(told: Checked) -> ET.Element:
    return ET.fromstring("".join(check_junit(told)))


def _sarif(told: Checked) -> Any:
    return json.loads("".join(check_sarif(told)))


def test_a_junit_case_fails_errs_or_passes_and_none_is_skipped(told: Checked) -> None:
    root = _junit(told)
    outcomes = {
        case.attrib["name"]: [child.tag for child in case] for case in root.iter("testcase")
    }
    assert outcomes == {
        "failures-not-increased": ["failure"],
        "pattern-not-increased:tool-failure@1": ["failure"],
        "topology-unchanged:shape": ["system-out"],
        "max-steps:40": ["system-out"],
        "max-steps:1": ["failure"],
        "max-cost:1": ["error"],
    }
    suite = root.find("testsuite")
    assert suite is not None
    for element in (root, suite):
        counts = [element.attrib[name] for name in ("tests", "failures", "errors")]
        assert counts == ["6", "3", "1"]
    properties = {p.attrib["name"]: p.attrib["value"] for p in root.iter("property")}
    assert properties["verdict"] == "FAIL"
    assert properties["current.artifact_digest"] == "a" * 64


def test_junit_holds_what_xml_cannot(told: Checked) -> None:
    hostile = _told(_run("error", prefix=HOSTILE, trace_id=HOSTILE), _run("ok"))
    root = _junit(hostile)
    properties = {p.attrib["name"]: p.attrib["value"] for p in root.iter("property")}
    assert properties["current.trace_id"] == "t\\x00\\x1b[31m\\ufffe]]>&<\"'\\r\\n::error::%0A,:"
    text = "".join(check_junit(hostile))
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", text)


def test_annotations_are_one_command_a_line_and_cannot_be_forged() -> None:
    hostile = _told(_run("error", prefix=HOSTILE), _run("ok"))
    lines = "".join(check_annotations(hostile)).splitlines()
    found = [re.fullmatch(r"::(\w+) title=([^:,]*)::(.*)", line) for line in lines]
    levels = [match[1] for match in found if match]
    assert levels == ["error", "error", "notice", "notice", "error", "error"]
    titles = [unquote(match[2]) for match in found if match]
    assert titles[0] == "FAIL failures-not-increased"
    assert titles[1] == "FAIL pattern-not-increased:tool-failure@1"
    assert titles[5] == "INSUFFICIENT_EVIDENCE max-cost:1"
    message = found[0][3] if found[0] else ""
    assert "%0A" in message and "%250A" in message and "\\r\\n::error" in message


# ---------------------------------------------------------------- SARIF 2.1.0


def test_sarif_has_what_the_standard_requires(told: Checked) -> None:
    log = _sarif(told)
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-2.1.0.json")
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert run["tool"]["driver"]["name"] == "tracegraph"
    assert len({rule["id"] for rule in rules}) == len(rules) == len(RULES)
    for result in run["results"]:
        assert result["message"]["text"]
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        # Section 3.27.10: a result that is no failure has the level none.
        assert result["level"] == ("error" if result.get("kind", "fail") == "fail" else "none")
        assert set(result["partialFingerprints"]) == {FINGERPRINT}
        for flow in result.get("codeFlows", []):
            (thread,) = flow["threadFlows"]
            orders = [each["executionOrder"] for each in thread["locations"]]
            assert orders == list(range(1, len(orders) + 1))
            assert all(each["location"]["logicalLocations"] for each in thread["locations"])
    kinds = {result["ruleId"]: result.get("kind", "fail") for result in run["results"]}
    assert kinds == {
        "failures-not-increased": "fail",
        "pattern-not-increased:tool-failure@1": "fail",
        "max-steps:1": "fail",
        "max-cost:1": "open",
    }


def test_sarif_invents_no_files_or_lines(told: Checked) -> None:
    words = set(re.findall(r'"(\w+)":', "".join(check_sarif(told))))
    assert not words & {"physicalLocation", "artifactLocation", "uri", "region", "startLine"}


def test_the_causes_are_a_code_flow_that_ends_at_the_failure(told: Checked) -> None:
    (run,) = _sarif(told)["runs"]
    result = run["results"][0]
    (flow,) = result["codeFlows"]
    (thread,) = flow["threadFlows"]
    places = [each["location"]["logicalLocations"][0] for each in thread["locations"]]
    alias = result["locations"][0]["logicalLocations"][0]["name"]
    assert alias.startswith("redacted:")
    assert [place["fullyQualifiedName"] for place in places] == [
        "agent",
        "agent/chat",
        f"agent/{alias}",
    ]
    assert [place["kind"] for place in places] == ["agent", "llm", "tool"]
    texts = [each["location"]["message"]["text"] for each in thread["locations"]]
    assert texts[1] == f"leads to TOOL {alias} (declared, tool_call_id)"
    assert texts[2] == "failed"


def _prints(told: Checked) -> list[tuple[str, str]]:
    (run,) = _sarif(told)["runs"]
    return [(r["ruleId"], r["partialFingerprints"][FINGERPRINT]) for r in run["results"]]


def test_one_failure_has_one_fingerprint_in_every_run(told: Checked) -> None:
    current, baseline = _run("error", "z", "other", retries=3), _run("ok", "y", retries=3)
    assert set(_prints(told)) == set(_prints(_told(current, baseline)))
    other = _told(Run().step("a", "TOOL", name="fetch", status="error").trace(), _run("ok"))
    assert not {p for r, p in _prints(other) if r == RULES[0]} & {p for _, p in _prints(told)}


def test_no_two_results_share_a_fingerprint() -> None:
    def tree(*names: str) -> Trace:
        run = Run().step("root", "AGENT", at=LONG)
        for number, name in enumerate(names):
            run.step(f"s{number}", name=name, inside="root")
        return run.trace()

    found = _prints(_told(tree("x", "x", "x"), tree("y"), "topology-unchanged", "max-steps:1"))
    assert len(found) == len(set(found)) == 4
    assert sum(":" in fingerprint for _, fingerprint in found) == 1


def test_many_occurrences_are_counted_where_they_are_not_spelled_out() -> None:
    (run,) = _sarif(_told(_run("error", retries=9), _run("ok"), RULES[0]))["runs"]
    (result,) = run["results"]
    assert len(result["codeFlows"]) == 5
    assert result["properties"] == {"baseline": 0, "current": 9, "codeFlowsLeftOut": 4}


def test_a_deep_place_has_a_short_name() -> None:
    run = Run().step("s0", "CHAIN", at=LONG)
    for number in range(1, 400):
        run.step(f"s{number}", "CHAIN", name="n", inside=f"s{number - 1}")
    run.step("last", status="error", inside="s399")
    log = _sarif(_told(run.trace(), _run("ok"), RULES[0]))
    name = log["runs"][0]["results"][0]["locations"][0]["logicalLocations"][0]
    assert name["fullyQualifiedName"] == ".../" + "n/" * 15 + "last"


# ---------------------------------------------------------------- all forms


def _forms(told: Checked) -> Iterator[str]:
    makers = (check_lines, check_markdown, check_junit, check_sarif, check_annotations)
    return ("".join(make(told)) for make in makers)


def test_no_form_tells_more_than_the_profile_allows(told: Checked) -> None:
    assert all("CANARY" not in text and "redacted:" in text for text in _forms(told))


def test_the_same_check_is_the_same_bytes(told: Checked) -> None:
    assert list(_forms(told)) == list(_forms(_told(_run("error"), _run("ok"))))

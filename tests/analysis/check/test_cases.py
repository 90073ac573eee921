"""The inputs with known faults, each with its right answer (../shared/cases/*/expected.md)."""

from collections.abc import Sequence

from analysis.check.judging import FAILURES, SHAPE, TREE, F, I, P, matches
from shared_data import fixture
from tracegraph.analysis.check.check import Judged
from tracegraph.analysis.check.counts import Increase
from tracegraph.analysis.check.runs import Label
from tracegraph.analysis.check.topology import TreeChange
from tracegraph.workflows.check import check_runs, read_rules
from tracegraph.workflows.load import load


def _checked(current: str, baseline: str, rules: Sequence[str]) -> dict[str, Judged]:
    paths = [written.partition("#")[0] for written in (current, baseline)]
    with load(paths[:1], cache=False) as one, load(paths[1:], cache=False) as other:
        told = check_runs((current, one), (baseline, other), read_rules(rules))
    return dict(zip(rules, told.check.rules, strict=True))


def _case(name: str, trace: str = "") -> str:
    return str(fixture(f"cases/{name}/input.json")) + trace


def _clean() -> str:
    return str(fixture("otlp/openinference_regression_v1.json"))


def _told(judged: Judged) -> set[tuple[str, str | None, int | None]]:
    judgement = judged.judgement
    return {(n.code, n.subject, n.count) for n in (*judgement.reasons, *judgement.limitations)}


def test_03_a_parent_that_was_never_exported() -> None:
    run = _case("03-missing-middle-parent")
    rules = [TREE, SHAPE, matches("plan-then-tool-failure"), matches("tool-retry-failure-near")]
    found = _checked(run, run, [*rules, FAILURES])
    assert {rule: found[rule].judgement.outcome for rule in rules} == dict.fromkeys(rules, I)
    for rule in rules:
        assert ("orphans", None, 2) in _told(found[rule])
    assert ("hidden_steps", "otlp.missing_parent", 1) in _told(found[FAILURES])


def test_08_a_tool_that_failed_and_a_span_that_says_ok() -> None:
    run = _case("08-tool-error-as-data")
    judged = _checked(run, _clean(), [FAILURES])[FAILURES]
    assert judged.judgement.outcome == F
    assert isinstance(judged.evidence, tuple)
    assert [(each.signature, each.current) for each in judged.evidence] == [
        (None, 2),
        ((Label("TOOL", "fetch"),), 1),
        ((Label("TOOL", "calc"),), 1),
    ]
    contradiction = ("contradiction", "otlp.status_contradicts_tool_status", 1)
    assert contradiction in _told(judged)
    assert contradiction in _told(_checked(run, run, [FAILURES])[FAILURES])


def test_09_attempts_that_are_traces_of_their_own() -> None:
    name = "09-retries-as-separate-traces"
    clean = _case(name, "#00000000000000000000000000000005")
    for number in range(1, 5):
        attempt = _case(name, f"#{number:032}")
        judged = _checked(attempt, clean, [FAILURES])[FAILURES]
        assert judged.judgement.outcome == F
        assert ("followed_in_session", None, 1) in _told(judged)
    again = _checked(clean, attempt, [FAILURES])[FAILURES]
    assert again.judgement.outcome == P
    assert ("followed_in_session", None, 1) not in _told(again)


def test_18_every_spelling_of_a_status() -> None:
    run = _case("18-exception-event-without-status")
    judged = _checked(run, _clean(), [FAILURES])[FAILURES]
    assert isinstance(judged.evidence, tuple)
    assert judged.evidence[0] == Increase(None, 0, 2)
    contradiction = ("contradiction", "otlp.status_contradicts_escaped_exception", 1)
    assert contradiction in _told(judged)


def test_a_regression_is_named() -> None:
    v1, v2 = _clean(), str(fixture("otlp/openinference_regression_v2.json"))
    rules = [FAILURES, matches("tool-failure"), TREE, SHAPE, "max-steps:+0%", "max-tokens:+0%"]
    found = _checked(v2, v1, rules)
    assert [found[rule].judgement.outcome for rule in rules] == [F, F, F, F, F, P]
    failing = found[FAILURES].evidence
    assert isinstance(failing, tuple)
    assert {each.signature: each.current for each in failing[1:]} == {
        (Label("CHAIN", "LangGraph"),): 1,
        (Label("TOOL", "fetch_page"),): 2,
    }
    tree = found[TREE].evidence
    assert isinstance(tree, TreeChange)
    assert len(tree.diff.topology.differences) == 2
    back = _checked(v1, v2, rules)
    assert [back[rule].judgement.outcome for rule in rules] == [P, P, F, F, P, P]


def test_a_call_of_a_tool_that_does_not_exist_is_a_failure_without_a_step() -> None:
    asking = str(fixture("otlp/openinference_unknown_tool.json"))
    judged = _checked(asking, _clean(), [FAILURES])[FAILURES]
    assert judged.judgement.outcome == I
    assert ("unknown_tools", None, 1) in _told(judged)
    assert _checked(_clean(), asking, [FAILURES])[FAILURES].judgement.outcome == P

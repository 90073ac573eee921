"""The derived tree and the joins that it leaves out (weakness W5 of agent-tracegraph)."""

from collections import Counter
from typing import Any

import pytest

from analysis.check.judging import SHAPE, TREE, F, I, P, codes, one, outcome, reasons
from made_runs import LONG, Run
from tracegraph.analysis.check.runs import Label
from tracegraph.analysis.check.topology import JoinChange, TreeChange
from tracegraph.model.trace import Trace


def _run(*names: str, kind: str = "TOOL", status: str = "ok", **header: Any) -> Trace:
    run = Run(**header).step("root", "AGENT", at=LONG)
    for number, name in enumerate(names):
        run.step(f"s{number}", kind, status, name=name, inside="root")
    return run.trace()


@pytest.mark.parametrize(
    ("current", "baseline", "labelled", "shape"),
    [
        (_run("a", "b"), _run("a", "b"), P, P),
        (_run("b", "a"), _run("a", "b"), P, P),
        (_run("a"), _run("a", "b"), F, F),
        (_run("a", "b"), _run("a"), F, F),
        (_run("c"), _run("a"), F, P),
        (_run("a", kind="LLM"), _run("a"), F, P),
        (_run("a", status="unset"), _run("a"), P, P),
        (_run(""), _run("a"), I, P),
        (_run("a"), _run(""), I, P),
        (_run("a", kind="UNKNOWN"), _run("a", kind="UNKNOWN"), P, P),
        (_run("a", kind="UNKNOWN"), _run("a"), F, P),
        (_run("a", source="other"), _run("a"), I, I),
        (_run("a", fidelity=1), _run("a"), I, I),
        (_run("a", gaps=Counter({"otlp.missing_parent": 1})), _run("a"), I, I),
        (_run("a"), _run("a", gaps=Counter({"otlp.unreadable_span": 1})), I, I),
        (_run("a", "b"), _run("a", gaps=Counter({"otlp.dropped_links": 1})), I, I),
        (_run("a", gaps=Counter({"otlp.dropped_events": 1})), _run("a"), P, P),
    ],
)
def test_the_table_of_evidence(current: Trace, baseline: Trace, labelled: str, shape: str) -> None:
    assert outcome(current, baseline, TREE) == labelled
    assert outcome(current, baseline, SHAPE) == shape


def test_a_step_whose_kind_is_said_to_be_unknown_may_be_another_one() -> None:
    unknown = Run().step("a", "UNKNOWN", unknown_fields="error_message,kind").trace()
    assert reasons(one(unknown, unknown, TREE)) == {"unknown_kind"}
    assert outcome(unknown, unknown, SHAPE) == P


def _joined(*causes: tuple[str, str]) -> Trace:
    run = Run().step("root", "CHAIN", at=LONG)
    for name in ("a", "b"):
        run.step(name, inside="root")
    return run.step("merge", inside="root", after=causes).trace()


def test_a_lost_join_is_a_change_that_the_tree_does_not_show() -> None:
    both = _joined(("a", "span_link"), ("b", "span_link"))
    judged = one(_joined(("a", "span_link")), both, TREE)
    assert judged.judgement.outcome == F
    assert isinstance(judged.evidence, TreeChange)
    assert judged.evidence.diff.topology.identical
    assert judged.evidence.joins == (
        JoinChange((Label("TOOL", "b"), Label("TOOL", "merge")), baseline=1, current=0),
    )
    assert outcome(_joined(), both, TREE) == outcome(_joined(), both, SHAPE) == F
    assert outcome(both, both, TREE) == outcome(both, both, SHAPE) == P


def test_how_a_cause_is_known_and_what_was_said_are_no_topology() -> None:
    assert outcome(_joined(("a", "protocol")), _joined(("a", "tool_call_id")), TREE) == P
    assert outcome(_joined(("a", "data_flow")), _joined(), TREE) == P
    guessed = one(_joined(("a", "order")), _joined(), TREE)
    assert codes(guessed.judgement.reasons) == {("heuristic_edges", "current", 1)}


def test_an_orphan_stands_in_the_tree_as_a_root_and_proves_nothing() -> None:
    orphan = Run().step("a", orphan=True).trace()
    assert reasons(one(orphan, orphan, TREE)) == {"orphans"}

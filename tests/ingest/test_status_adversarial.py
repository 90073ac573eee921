"""Statuses where the record contradicts itself, and the status of runs without one root."""

from typing import Any

import pytest

from otlp_data import any_value, chat, exception, only, span, tool
from trace_view import gaps
from tracegraph.model.trace import Trace

OK, ERROR = {"code": 1}, {"code": "STATUS_CODE_ERROR"}
GRAPH_INTERRUPT = "langgraph.errors.GraphInterrupt"
CONTRADICTS = "otlp.status_contradicts_"


def escaped(event: dict[str, Any]) -> dict[str, Any]:
    event["attributes"].append({"key": "exception.escaped", "value": any_value(True)})
    return event


def status(trace: Trace) -> tuple[str, str | None]:
    (step,) = trace.steps
    return step.status, step.status_source


@pytest.mark.parametrize(
    ("fields", "attributes", "expected", "signals", "told"),
    [
        (
            {"status": OK},
            {"error.type": "timeout"},
            ("ok", "recorded"),
            ["tool_error"],
            "error_type",
        ),
        (
            {"status": OK},
            {"output.value": '{"isError": true}'},
            ("ok", "recorded"),
            ["tool_error"],
            "",
        ),
        ({}, {"output.value": '{"isError": false}'}, ("ok", "default"), [], ""),
        ({}, {"output.value": '{"isError": "true"}'}, ("ok", "default"), [], ""),
        ({}, {"output.value": '{"a": {"isError": true}}'}, ("ok", "default"), [], ""),
        (
            {"endTimeUnixNano": None},
            {"output.value": '{"isError": false}'},
            ("unset", None),
            [],
            "",
        ),
        (
            {"endTimeUnixNano": None},
            {"error.type": "timeout"},
            ("error", "error.type"),
            [],
            "",
        ),
        ({"endTimeUnixNano": None, "status": OK}, {}, ("ok", "recorded"), [], ""),
        ({"endTimeUnixNano": "0"}, {}, ("unset", None), [], ""),
        ({"status": {"code": 0, "message": "Error: it failed"}}, {}, ("ok", "default"), [], ""),
        (
            {"status": OK, "events": [escaped(exception("E", "boom"))]},
            {},
            ("ok", "recorded"),
            [],
            "escaped_exception",
        ),
        ({"events": [escaped(exception("E"))]}, {}, ("error", "exception"), [], ""),
        ({"events": [exception(None, "boom")]}, {}, ("error", "exception"), [], ""),
        ({"status": ERROR, "events": [exception(GRAPH_INTERRUPT)]}, {}, None, ["interrupt"], ""),
        ({"events": [exception(GRAPH_INTERRUPT)]}, {}, None, ["interrupt"], ""),
        (
            {"status": ERROR, "events": [exception(GRAPH_INTERRUPT)]},
            {"error.type": "GraphInterrupt"},
            None,
            ["interrupt"],
            "",
        ),
        ({"status": ERROR}, {"error.type": GRAPH_INTERRUPT}, None, ["interrupt"], ""),
        (
            {"status": ERROR, "events": [exception(GRAPH_INTERRUPT), exception(None, "boom")]},
            {},
            ("error", "recorded"),
            [],
            "",
        ),
        (
            {"status": ERROR, "events": [exception(GRAPH_INTERRUPT)]},
            {"error.type": "ValueError"},
            ("error", "recorded"),
            [],
            "",
        ),
        (
            {"status": OK, "events": [exception(GRAPH_INTERRUPT)]},
            {},
            ("ok", "recorded"),
            ["interrupt"],
            "",
        ),
        (
            {"status": ERROR, "events": [exception("acme.GraphInterrupt")]},
            {},
            ("error", "recorded"),
            [],
            "",
        ),
    ],
)
def test_status_of_a_tool_step(
    fields: dict[str, Any],
    attributes: dict[str, Any],
    expected: tuple[str, str | None] | None,
    signals: list[str],
    told: str,
) -> None:
    trace = only(tool(1, "t", attributes=attributes, **fields))
    assert status(trace) == (expected or ("unset", "control_flow"))
    (step,) = trace.steps
    assert list(step.signals) == signals
    assert gaps(trace) == ({CONTRADICTS + told: 1} if told else {})


def test_status_that_cannot_be_read_is_no_success() -> None:
    for code in (7, "FAILED", -1):
        trace = only(span(1, "x", "CHAIN", status={"code": code}))
        assert status(trace)[0] == "unset", code
        assert gaps(trace) == {"otlp.unreadable_status": 1}
        assert trace.status == "unset"
    failed = only(
        span(1, "x", "CHAIN", status={"code": 7}, events=[exception("ValueError", "boom")])
    )
    assert status(failed) == ("error", "exception")


def test_contradiction_on_a_step_that_is_no_tool_is_told() -> None:
    trace = only(span(1, "m", "LLM", status=OK, attributes={"error.type": "timeout"}))
    assert status(trace) == ("ok", "recorded")
    assert gaps(trace) == {"otlp.status_contradicts_error_type": 1}


ASK = ("c", "search", "{}")


@pytest.mark.parametrize(
    ("last", "expected"),
    [({}, "ok"), ({"status": ERROR}, "error"), ({"endTimeUnixNano": None}, "unset")],
)
def test_run_without_a_container_is_what_its_end_is(last: dict[str, Any], expected: str) -> None:
    trace = only(
        chat(1, asks=[ASK]),
        tool(2, "search", "{}", call_id="c", status=ERROR),
        chat(3, reads=["c"], says="so", **last),
    )
    assert trace.status == expected


def test_run_without_a_container_whose_tool_fails_and_nobody_reads_it_failed() -> None:
    assert only(chat(1, asks=[ASK]), tool(2, "search", call_id="c", status=ERROR)).status == "error"


@pytest.mark.parametrize("order", [(OK, ERROR), (ERROR, OK)])
def test_one_failed_root_of_several_fails_the_run(order: tuple[Any, Any]) -> None:
    assert (
        only(*(span(n, "run", "AGENT", status=s) for n, s in enumerate(order, 1))).status == "error"
    )
    links = [{"traceId": "4f" * 16, "spanId": f"{1:016x}"}]
    first, second = order
    linked = span(2, "run", "AGENT", status=second, links=links)
    assert only(span(1, "run", "AGENT", status=first), linked).status == "error"


def test_failed_child_does_not_fail_the_run_and_orphans_say_nothing_of_it() -> None:
    assert (
        only(span(1, "run", "AGENT", status=OK), tool(2, "t", parent=1, status=ERROR)).status
        == "ok"
    )
    assert only(tool(2, "t", parent=9, status=ERROR), tool(3, "t", parent=9)).status == "unset"
    assert only(span(1, "run", "AGENT"), tool(2, "t", parent=9, status=ERROR)).status == "ok"


def test_interrupted_run_has_not_failed() -> None:
    raised = {"status": ERROR, "events": [exception(GRAPH_INTERRUPT, "approve?")]}
    trace = only(span(1, "graph", "CHAIN", **raised), span(2, "ask", "CHAIN", parent=1, **raised))
    assert trace.status == "unset"
    assert {step.signals for step in trace.steps} == {("interrupt",)}
    assert not [s for s in trace.steps if s.error_message or s.error_type]

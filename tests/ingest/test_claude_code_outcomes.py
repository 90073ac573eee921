"""What a Claude Code session proves of status and numbers, and which files are none."""

import json

import pytest

from claude_lines import Line, causes, result, said, text, told, trace_of, traces_of, use
from shared_data import fixture
from trace_view import gaps, the
from tracegraph.errors import UnknownFormatError
from tracegraph.ingest.registry import detect
from tracegraph.ingest.source import Source

MADE = fixture("claude_code/made_session.jsonl").read_text().splitlines()


def test_what_the_client_writes_itself_is_no_answer_of_a_model() -> None:
    zero = {"input_tokens": 0, "output_tokens": 0}
    words = said("c", "r", text("No response requested."), model="<synthetic>", usage=zero)
    lines = [said("a", None, use("t1")), told("r", "a", [result("t1")]), words]
    trace = trace_of(lines)
    written = the(trace, "msg_c")
    assert (written.status, written.status_source, written.model) == ("unset", None, None)
    assert (written.tokens_prompt, written.tokens_completion, written.tokens_total) == (None,) * 3
    assert ("msg_c", "t1", "message") in causes(
        trace
    )  # it stands there, and nobody read the result
    assert trace.status == "unset"


@pytest.mark.parametrize(
    ("reasons", "counts", "expected"),
    [
        ([None, "tool_use"], [1, 61], (3, 61, 64)),
        (["tool_use", None], [61, 1], (3, 61, 64)),  # the line that tells has the whole of it
        ([None, None], [8, 310], (3, None, None)),
        ([None, None], [None, None], (3, None, None)),
    ],
)
def test_tokens_that_were_counted_before_the_end_are_no_number_of_them(
    reasons: list[str | None], counts: list[int | None], expected: tuple[int | None, ...]
) -> None:
    lines = [
        said(
            f"a{n}",
            f"a{n - 1}" if n else None,
            text("."),
            message_id="m",
            stop_reason=reason,
            usage={"input_tokens": 3, "output_tokens": count},
        )
        for n, (reason, count) in enumerate(zip(reasons, counts, strict=True))
    ]
    trace = trace_of(lines)
    (only,) = trace.steps
    assert (only.tokens_prompt, only.tokens_completion, only.tokens_total) == expected
    is_partial = not any(reasons) and any(counts)
    assert gaps(trace) == ({"claude_code.partial_usage": 1} if is_partial else {})


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("cancelled", ("unset", "control_flow", None)),
        ("user-rejected", ("unset", "control_flow", None)),
        ("permission-rule", ("error", "recorded", "done")),
        (None, ("error", "recorded", "done")),
    ],
)
def test_a_call_that_a_person_stopped_did_not_fail(
    kind: str | None, status: tuple[str | None, ...]
) -> None:
    stopped = told("r", "a", [result("t1", is_error=True)], toolDenialKind=kind)
    tool = the(trace_of([said("a", None, use("t1")), stopped]), "t1")
    assert (tool.status, tool.status_source, tool.error_message) == status


def test_what_is_kept_of_a_session_under_every_policy_is_its_versions() -> None:
    lines = [
        said("a", None, text("."), version="2.1.289"),
        told("u", "a", ".", version="my secret prompt"),
    ]
    (trace,) = traces_of(lines, keep=False)
    assert trace.attributes == {"versions": ["2.1.289"]}


def test_a_message_of_nobody_is_disclosed() -> None:
    lines = [json.loads(line) for line in MADE]
    for value in lines:
        if value.get("uuid") == "a8":
            del value["type"]
    assert gaps(trace_of(lines))["claude_code.unreadable_field"] == 1


_OTHERS = {
    "qwen": {
        "uuid": "a",
        "parentUuid": None,
        "sessionId": "s",
        "type": "user",
        "message": {"role": "user", "parts": [{"text": "hi"}]},
    },
    "codex": {"timestamp": "2026-01-01T00:00:00Z", "type": "session_meta", "payload": {"id": "s"}},
    "history": {"display": "hi", "pastedContents": {}, "timestamp": 1, "sessionId": "s"},
}


@pytest.mark.parametrize("name", _OTHERS)
def test_logs_of_other_agents_are_not_taken(name: str) -> None:
    data = "\n".join([json.dumps(_OTHERS[name])] * 3).encode()
    with pytest.raises(UnknownFormatError):
        detect(Source("x.jsonl", data))


@pytest.mark.parametrize(
    "before",
    [
        {"type": "summary", "summary": "Fix it", "leafUuid": "a"},
        {
            "type": "attachment",
            "parentUuid": None,
            "isSidechain": False,
            "attachment": {"type": "skills", "content": "x" * 50},
            "sessionId": "s",
        },
    ],
    ids=["titles", "context"],
)
def test_what_fills_the_head_does_not_hide_the_session(before: Line) -> None:
    lines = [*[before] * 1000, said("a", None, text("."))]
    source = Source("x.jsonl", "\n".join(map(json.dumps, lines)).encode())
    assert detect(source).name == "claude_code"
    assert [step.step_id for step in trace_of(lines).steps] == ["msg_a"]


def test_a_mark_of_failure_that_cannot_be_read_is_no_success() -> None:
    lines = [
        said("a", None, use("t1")),
        told("r", "a", [result("t1", is_error="true")]),
        said("b", "r", text("."), isApiErrorMessage="yes"),
    ]
    trace = trace_of(lines)
    assert [s.status for s in trace.steps] == ["ok", "unset", "unset"]
    assert (trace.status, gaps(trace)) == ("unset", {"claude_code.unreadable_field": 2})


def test_a_sum_of_tokens_that_is_no_number_of_any_is_unknown() -> None:
    most = 2**63 - 1
    trace = trace_of([said("a", None, usage={"input_tokens": 5, "output_tokens": most})])
    (only,) = trace.steps
    assert (only.tokens_prompt, only.tokens_completion, only.tokens_total) == (5, most, None)

"""A value that is nested thousands of levels deep costs that value, never the file."""

import json
from collections.abc import Callable

import pytest

from tracegraph.errors import InputError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.nesting import deep_nesting
from tracegraph.ingest.registry import detect
from tracegraph.ingest.source import Source
from tracegraph.model.seal import seal
from tracegraph.model.trace import Trace, iterate

LEVELS = 5_000


def nest(levels: int) -> str:
    return "[" * levels + "]" * levels


def otlp(deep: str) -> str:
    def span(number: int, attributes: str) -> str:
        return (
            f'{{"traceId": "{"5b" * 16}", "spanId": "eee19b7ec3c1b17{number}", "name": "s", '
            f'"startTimeUnixNano": "1", "endTimeUnixNano": "2", "attributes": [{attributes}]}}'
        )

    value = f'{{"key": "a", "value": {{"kvlistValue": {{"values": {deep}}}}}}}'
    spans = f"{span(1, value)}, {span(2, '')}"
    return f'{{"resourceSpans": [{{"scopeSpans": [{{"spans": [{spans}]}}]}}]}}'


def artifact(deep: str) -> str:
    return (
        '{"kind": "tracegraph.trace", "schema_version": 1, "trace": {"trace_id": "t"}, "steps": '
        f'[{{"step_id": "a", "attributes": {{"x": {deep}}}}}, {{"step_id": "b"}}]}}'
    )


def agentdelta(deep: str) -> str:
    rows = [{"type": "trace_meta", "run_id": "r"}, {"type": "node", "step": 2, "node_type": "llm"}]
    first = f'{{"type": "node", "step": 1, "node_type": "start", "metadata": {{"x": {deep}}}}}'
    return "\n".join([json.dumps(rows[0]), first, json.dumps(rows[1])])


def read(text: str, keep_content: bool) -> Trace:
    source = Source("deep.json", text.encode())
    (draft,) = detect(source).read([source], ReadOptions(keep_content=keep_content))
    (trace,) = iterate(seal(draft))
    return trace


def reads_it() -> bool:
    """Whether this interpreter lets any decoder go as deep: Python 3.12 bounds calls in C."""
    try:
        with deep_nesting():
            json.loads(nest(LEVELS))
    except RecursionError:
        return False
    return True


@pytest.mark.parametrize("keep_content", [False, True])
@pytest.mark.parametrize("make", [otlp, artifact, agentdelta])
def test_a_deep_value_costs_no_step(make: Callable[[str], str], keep_content: bool) -> None:
    if reads_it():
        assert len(read(make(nest(LEVELS)), keep_content)) == 2
    elif make is agentdelta:
        assert len(read(make(nest(LEVELS)), keep_content)) == 1  # it costs its line
    else:
        with pytest.raises(InputError, match="nested too deeply"):
            read(make(nest(LEVELS)), keep_content)


def test_what_is_not_read_is_disclosed() -> None:
    assert read(artifact(nest(9)), True).gaps == ()
    if reads_it():
        trace = read(artifact(nest(LEVELS)), True)
        gaps = {gap.code: gap.count for gap in trace.gaps}
        content = trace.columns.content
        assert content is not None
        assert (content.attributes[0] is None) == (gaps == {"artifact.unreadable_field": 1})

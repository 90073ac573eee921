"""Lines of Claude Code sessions made by hand, and what is read of them."""

import json
from typing import Any

from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.claude_code.adapter import ClaudeCodeAdapter
from tracegraph.ingest.source import Source
from tracegraph.model.columns import Columns
from tracegraph.model.seal import seal
from tracegraph.model.trace import Trace, iterate

Line = dict[str, Any]


def said(uuid: str, parent: str | None, *blocks: Line, **more: Any) -> Line:
    """Return a model's line."""
    message = {
        "id": more.pop("message_id", f"msg_{uuid}"),
        "role": "assistant",
        "model": more.pop("model", "claude-opus-4-6"),
        "content": list(blocks),
        "stop_reason": more.pop("stop_reason", "tool_use"),
        "usage": more.pop("usage", {"input_tokens": 3, "output_tokens": 9}),
    }
    return line(uuid, parent, "assistant", message, **more)


def told(uuid: str, parent: str | None, content: Any, **more: Any) -> Line:
    """Return a line of a person, or of results."""
    return line(uuid, parent, "user", {"role": "user", "content": content}, **more)


def line(uuid: str, parent: str | None, kind: str, message: Line, **more: Any) -> Line:
    own = {"uuid": uuid, "parentUuid": parent, "type": kind, "message": message}
    return {**own, "isSidechain": "agentId" in more, "sessionId": "s", **more}


def use(call_id: str, name: str = "Bash") -> Line:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {"of": call_id}}


def result(call_id: Any, **more: Any) -> Line:
    return {"type": "tool_result", "tool_use_id": call_id, "content": "done", **more}


def text(words: str) -> Line:
    return {"type": "text", "text": words}


def columns_of(data: bytes, *, keep: bool = True, strict: bool = False) -> Columns:
    source = Source("x.jsonl", data)
    assert ClaudeCodeAdapter().sniff(source)
    (draft,) = ClaudeCodeAdapter().read([source], ReadOptions(keep_content=keep, strict=strict))
    return seal(draft)


def traces_of(lines: list[Line], *, keep: bool = True, strict: bool = False) -> list[Trace]:
    data = "\n".join(map(json.dumps, lines)).encode()
    return list(iterate(columns_of(data, keep=keep, strict=strict)))


def trace_of(lines: list[Line]) -> Trace:
    (trace,) = traces_of(lines)
    return trace


def causes(trace: Trace) -> set[tuple[str, str, str]]:
    return {(cause.effect, cause.cause, cause.origin) for cause in trace.causes}

"""What the messages of a generation span say.

Models of the Chat Completions API record its messages; streamed answers are recorded as one object
of the Responses API, whose items are told by their ``type``: ``function_call`` and
``function_call_output`` with a ``call_id``, ``message`` with parts of text.
"""

from collections.abc import Iterator
from typing import Any

from tracegraph.ingest.call_steps import Messages
from tracegraph.ingest.langchain_messages import read_messages
from tracegraph.ingest.requests import Call
from tracegraph.ingest.tool_payload import make_call

_CUT = "max_output_tokens"


def messages_of(given: Any, made: Any) -> Messages:
    """Read what a model heard and said, in the spelling of either API."""
    found, _ = read_messages(given, made, None)
    for item in _items(made):
        if item.get("type") == "function_call":
            found.calls.append(_call(item))
        elif item.get("type") == "message":
            found.answers |= _has_text(item.get("content"))
    for item in _items(given):
        call_id = item.get("call_id")
        if isinstance(call_id, str) and call_id:
            if item.get("type") == "function_call_output":
                found.reads.append(call_id)
            elif item.get("type") == "function_call":
                found.history.append(call_id)
    found.cut |= any(_is_cut(answer) for answer in _objects(made))
    return found


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    for item in value if isinstance(value, list) else ():
        if isinstance(item, dict):
            yield item


def _items(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the items of a list, and those that an answer in it holds."""
    for item in _objects(value):
        yield from _objects(item["output"]) if "output" in item and "role" not in item else ()
        yield item


def _call(item: dict[str, Any]) -> Call:
    call_id, name = item.get("call_id"), item.get("name")
    return make_call(
        call_id if isinstance(call_id, str) and call_id else None,
        name if isinstance(name, str) and name else None,
        item.get("arguments"),
    )


def _has_text(content: Any) -> bool:
    texts = (part.get("text") for part in _objects(content))
    return any(isinstance(text, str) and text.strip() for text in texts)


def _is_cut(answer: dict[str, Any]) -> bool:
    details = answer.get("incomplete_details")
    return isinstance(details, dict) and details.get("reason") == _CUT

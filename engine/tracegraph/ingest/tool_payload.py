"""What a tool was given and what it gave back, without the envelopes that exporters put around it.

LangChain records results as messages (``{"type": "tool", "data": {...}}``, serialised objects with
``lc`` and ``kwargs``) and handoffs as commands whose update holds the message; OpenLLMetry wraps
both sides of a callback in an object. Digests are of the content alone: an envelope holds the
call's unique id, so no two would be equal.
"""

import ast
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Struct

from tracegraph.ingest.requests import Call
from tracegraph.model.codes import UNKNOWN
from tracegraph.model.digest import digest_text, digest_value, parse_text

_MAX_LITERAL = 100_000
_MAX_REMEMBERED = 4_096
_TOOL = ("tool", "ToolMessage", "function", "FunctionMessage")


class ToolPayload(Struct, gc=False):
    """Arguments and result of a tool step.

    Attributes:
        args: digest of the arguments, None unknown.
        result: digest of the result's content, None unknown.
        args_size: bytes of the recorded arguments, -1 unknown.
        result_size: bytes of the recorded output, -1 unknown.
        call_id: id of the call that asked for it.
        is_error: the result says by a typed field of its protocol (MCP) that it is a failure.
        message_failed: the message around the result has the status error.
    """

    args: str | None = None
    result: str | None = None
    args_size: int = UNKNOWN
    result_size: int = UNKNOWN
    call_id: str | None = None
    is_error: bool = False
    message_failed: bool = False


_decode = msgspec.json.Decoder().decode


def read_payload(
    arguments: str | None, result: str | None, call_id: str | None = None
) -> ToolPayload:
    """Read what a call was given and gave back, either of which may not be recorded.

    Args:
        arguments: recorded input.
        result: recorded output.
        call_id: id of the call as recorded beside them; else theirs is taken.
    """
    payload = ToolPayload(call_id=call_id)
    if arguments is not None:
        read_arguments(arguments, payload)
    if result is not None:
        read_result(result, payload)
    return payload


def read_result(text: str, payload: ToolPayload) -> None:
    """Fill in what recorded output says."""
    payload.result_size = size_of(text)
    found = _object(text)
    if found is not None:
        payload.is_error = found.get("isError") is True
        message = _tool_message(found)
        if message is not None:
            _read_message(message, payload)
            return
    payload.result = digest_text(text)


def read_arguments(text: str, payload: ToolPayload) -> None:
    """Fill in what recorded input says."""
    payload.args_size = size_of(text)
    found = _object(text)
    if found is not None:
        kwargs = found.get("kwargs")
        if found.keys() == {"args", "kwargs"} and isinstance(kwargs, dict) and not found["args"]:
            payload.args = digest_value(kwargs)  # OpenLLMetry's decorators
            return
        if ("inputs" in found or "input_str" in found) and ("tags" in found or kwargs is not None):
            if isinstance(kwargs, dict) and isinstance(kwargs.get("tool_call_id"), str):
                payload.call_id = payload.call_id or kwargs["tool_call_id"]
            payload.args = _callback_arguments(found)
            return
    payload.args, _ = _argument_digests(text)


def size_of(text: str) -> int:
    """Return the bytes of a text as UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def make_call(call_id: str | None, name: str | None, arguments: Any) -> Call:
    """Describe a requested call; ``arguments`` is JSON text or a decoded value."""
    if isinstance(arguments, str):
        return Call(call_id, name, *_argument_digests(arguments))
    return Call(call_id, name, digest_value(arguments), _only_argument(arguments))


def _argument_digests(text: str) -> tuple[str | None, str | None]:
    """Return the digest of arguments, and that of the only one's value.

    The request and the step that runs it record the same text; long texts are not remembered.
    """
    return (_remembered if len(text) <= _MAX_REMEMBERED else _digest_arguments)(text)


def _digest_arguments(text: str) -> tuple[str | None, str | None]:
    try:
        value = parse_text(text)
    except ValueError:
        return digest_text(text), None
    return digest_value(value), _only_argument(value)


_remembered = lru_cache(maxsize=1024)(_digest_arguments)


def _only_argument(arguments: Any) -> str | None:
    """Return the digest of the value of a single argument, None where there are none or several."""
    if not isinstance(arguments, dict) or len(arguments) != 1:
        return None
    (only,) = arguments.values()
    return digest_text(only) if isinstance(only, str) else digest_value(only)


def _object(text: str) -> dict[str, Any] | None:
    """Return the JSON object that a text is, None where it is something else."""
    if text[:1] == "{" or text[:64].lstrip()[:1] == "{":
        try:
            value = _decode(text)
        except (msgspec.MsgspecError, RecursionError):
            return None
        return value if isinstance(value, dict) else None
    return None


def _callback_arguments(found: dict[str, Any]) -> str | None:
    """Return the digest of the arguments that a LangChain callback was given."""
    inputs = found.get("inputs")
    if inputs is None:
        inputs = found.get("input_str")
    if not isinstance(inputs, str):
        return digest_value(inputs)
    if inputs[:1] in ("{", "[") and len(inputs) <= _MAX_LITERAL:
        try:
            value = ast.literal_eval(inputs)  # Python's repr of plain data; runs nothing
            if isinstance(value, dict | list):
                return digest_value(value)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            pass  # no literal, or one of what JSON has not: bytes, sets
    return digest_text(inputs)


def _tool_message(found: dict[str, Any]) -> dict[str, Any] | None:
    """Return the tool message in a result, None where the result is no envelope."""
    message = _unwrap(found)
    if message is not None:
        return message
    output = found.get("output")
    if isinstance(found.get("kwargs"), dict) and output is not None:
        return (_unwrap(output) if isinstance(output, dict) else None) or {"content": output}
    update = found.get("update")
    if "graph" in found and isinstance(update, dict):
        messages = update.get("messages")
        for item in reversed(messages if isinstance(messages, list) else []):
            message = _unwrap(item) if isinstance(item, dict) else None
            if message is not None and "tool_call_id" in message:
                return message
    return None


def _unwrap(found: dict[str, Any]) -> dict[str, Any] | None:
    """Return the fields of a LangChain message in any of its three serialisations."""
    for inner in ("data", "kwargs"):
        fields = found.get(inner)
        if (
            isinstance(fields, dict)
            and ("content" in fields)
            and ("lc" in found or _is_tool(found))
        ):
            return fields
    return found if _is_tool(found) and "content" in found else None


def _is_tool(found: dict[str, Any]) -> bool:
    return found.get("type") in _TOOL or found.get("role") == "tool"


def _read_message(message: dict[str, Any], payload: ToolPayload) -> None:
    content = message.get("content")
    payload.result = digest_text(content) if isinstance(content, str) else digest_value(content)
    if isinstance(message.get("tool_call_id"), str):
        payload.call_id = payload.call_id or message["tool_call_id"]
    payload.message_failed = message.get("status") == "error"

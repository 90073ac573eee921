"""What the bodies of a LangChain model step say: calls asked for, results read, tools offered.

Messages come in three spellings: serialised objects (``lc`` and ``kwargs``), ``message_to_dict``
(``type`` and ``data``) and their bare fields; and wrappers of other SDKs hold OpenAI's objects.
"""

from typing import Any

from tracegraph.ingest.call_steps import Messages
from tracegraph.ingest.langgraph.messages import (
    MODEL,
    TOOL,
    Message,
    Usage,
    asked_by,
    messages_in,
    usage_of,
)
from tracegraph.ingest.openinference import tool_name

_LEVELS = 10


def read_messages(inputs: Any, outputs: Any, tools: Any) -> tuple[Messages, Usage]:
    """Read what a model step heard and said, and what its answer says that it used.

    Args:
        inputs: decoded body.
        outputs: decoded body.
        tools: schemas of the tools that it could call, None where they are not recorded.
    """
    heard = list(messages_in(unwrapped(inputs)))
    spoken = [message for message in messages_in(unwrapped(outputs)) if message.role == MODEL]
    usage = usage_of(spoken)
    found = Messages(
        calls=[call.call() for message in spoken for call in asked_by(message)],
        reads=[m.call_id for m in heard if m.role == TOOL and m.call_id is not None],
        history=[call.id for message in heard for call in asked_by(message)],
        offered=_offered(tools),
        answers=any(_answers(message) for message in spoken) or _has_text(outputs),
        cut=usage.cut,
    )
    return found, usage


def unwrapped(value: Any, level: int = 0) -> Any:
    """Return a value in which messages of all spellings are their bare fields."""
    if level == _LEVELS:
        return value
    if isinstance(value, list):
        return [unwrapped(item, level + 1) for item in value]
    if not isinstance(value, dict):
        return value
    kwargs, name = value.get("kwargs"), value.get("id")
    if "lc" in value and isinstance(kwargs, dict):
        own = name[-1] if isinstance(name, list) and name else None
        return {"type": own, **kwargs}
    data = value.get("data")
    if isinstance(data, dict) and isinstance(value.get("type"), str) and "content" in data:
        return {**data, "type": value["type"]}
    return {key: unwrapped(item, level + 1) for key, item in value.items()}


def _answers(message: Message) -> bool:
    return bool(message.text and message.text.strip())


def _has_text(outputs: Any) -> bool:
    """Tell whether a model that takes no messages completed its prompt with text."""
    waiting = [outputs.get("generations") if isinstance(outputs, dict) else None]
    while waiting:
        found = waiting.pop()
        if isinstance(found, list):
            waiting += found
        elif isinstance(found, dict):
            text = found.get("text")
            if isinstance(text, str) and text.strip():
                return True
    return False


def _offered(tools: Any) -> list[str] | None:
    if not isinstance(tools, list) or not tools:
        return None
    names = [tool_name(tool) for tool in tools]
    known = [name for name in names if name is not None]
    return known if len(known) == len(names) else None  # an unnamed tool may be any

"""What was in view at a step: the state that it ran from, what it was given, the rows before it.

Which of them is recorded depends on the source (:class:`Context`). Bodies are read from columns
that keep content; where those do not, nothing is in view.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tracegraph.analysis.context.attributes import (
    given_instructions,
    given_messages,
    given_tools,
)
from tracegraph.analysis.context.items import (
    CHANNEL,
    INPUT,
    INSTRUCTION,
    MESSAGE,
    ROW,
    TOOL,
    Item,
    body,
    is_message,
    items_of,
    make_item,
)
from tracegraph.ingest.nesting import deep_nesting
from tracegraph.model.codes import KIND_CODE
from tracegraph.model.step import Step
from tracegraph.model.trace import Trace

STATE, MESSAGES, GIVEN, ROWS, NONE = "state", "messages", "input", "rows", "none"
_LOGS = frozenset({"agentdelta", "agentdiff", "langgraph_state"})
"""Sources that record what was said row by row, and no request that repeats it."""
_SPLIT = frozenset({"agentdelta", "langgraph_state"})
"""Those of them in which a call and its return are two rows."""
_PARTS = {"system": INSTRUCTION, "instructions": INSTRUCTION, "tools": TOOL, "functions": TOOL}
"""Members of a request in the spelling of model providers."""


@dataclass(frozen=True, slots=True)
class Context:
    """What was in view at a step.

    Attributes:
        row: the step.
        view: where that is recorded: ``state`` (the channels of the checkpoint that the step ran
            from), ``messages`` (of a model call), ``input`` (what else the step was given),
            ``rows`` (the log up to it), ``none`` (nothing of it, though a model's tools may be).
        checkpoint: id of the checkpoint, of a state.
        unreadable: channels of it that are recorded and cannot be shown.
        items: what was in view, in order.
    """

    row: int
    view: str
    checkpoint: str | None
    unreadable: tuple[str, ...]
    items: list[Item]


def context_of(trace: Trace, row: int) -> Context:
    """Return what was in view at a step.

    Args:
        trace: the trace, with its content; that of a LangGraph checkpoint read with
            ``ReadOptions.state_of``.
        row: row of the step.
    """
    step = Step(trace.columns, row)
    attributes = _attributes(step)
    if "channel_values" in attributes or "handed" in attributes:
        return _state(step, attributes)
    if trace.source in _LOGS or trace.fidelity == "order_only":
        open_calls = _open_calls(trace, step)
        before = range(trace.rows.start, row)
        rows = [item for at in before for item in _row(trace, at, at not in open_calls)]
        own = _side(step, "input", step.input)
        items = [*rows, *own]
        return Context(row, ROWS if items else NONE, None, (), items)
    items = list(_given(step, attributes))
    parts = {item.part for item in items}
    if step.kind == "LLM" and MESSAGE in parts:
        return Context(row, MESSAGES, None, (), items)
    return Context(row, GIVEN if parts - {TOOL} else NONE, None, (), items)


def _state(step: Step, attributes: dict[str, Any]) -> Context:
    """Return the arguments of a tool, and the state that its task or the step itself ran from."""
    given = attributes["handed"] if "handed" in attributes else attributes["channel_values"]
    own = [make_item(INPUT, body(step.input))] if step.input else []
    items = own + list(_members(given, {}, whole=True))
    unreadable = tuple(attributes.get("unreadable_channels", ()))
    return Context(step.row, STATE, attributes.get("checkpoint_id"), unreadable, items)


def _given(step: Step, attributes: dict[str, Any]) -> Iterator[Item]:
    if step.kind != "LLM":
        yield from _members(_without_envelope(step.input), {}, whole=True)
        return
    yield from given_instructions(attributes)
    messages = given_messages(attributes)
    yield from messages or _members(_without_envelope(step.input), _PARTS)
    yield from given_tools(attributes)


def _members(value: Any, parts: dict[str, str], *, whole: bool = False) -> Iterator[Item]:
    """Yield the members of an object, each as what it is; any other value as one.

    Args:
        value: what was given.
        parts: what members with a known name are, besides channels.
        whole: the object is a state or arguments, never itself a message.
    """
    if value is None:
        return
    if isinstance(value, dict) and (whole or not is_message(value)):
        for name, member in value.items():
            yield from items_of(member, parts.get(name, CHANNEL), name)
    else:
        yield from items_of(value, INPUT)


def _without_envelope(text: str | None) -> Any:
    """Return what was given, without what OpenLLMetry's callbacks put around it."""
    if text is None or not text.strip():
        return None
    value = body(text)
    if isinstance(value, dict) and "inputs" in value and ("tags" in value or "kwargs" in value):
        return value["inputs"]
    return value


def _open_calls(trace: Trace, step: Step) -> set[int]:
    """Return the rows of earlier tool steps whose answer was not there yet.

    Where a call and its return are two rows of the log they are one step, which stands where the
    call does. The answer was there if something up to this step follows from it; it was not if only
    later steps do, nor for a tool that ran beside it.
    """
    if trace.source not in _SPLIT:
        return set()
    columns, rows = trace.columns, trace.rows
    low, high = np.searchsorted(columns.causes.effect, [rows.start, rows.stop])
    first: dict[int, int] = {}
    for effect, cause in zip(
        columns.causes.effect[low:high].tolist(),
        columns.causes.cause[low:high].tolist(),
        strict=True,
    ):
        first.setdefault(cause, effect)  # effects ascend
    unread = step.row + (step.kind == "TOOL")
    earlier = range(rows.start, step.row)
    tools = (at for at in earlier if columns.steps.kind[at] == KIND_CODE["TOOL"])
    return {at for at in tools if first.get(at, unread) > step.row}


def _row(trace: Trace, row: int, is_answered: bool) -> Iterator[Item]:
    """Yield both sides of an earlier step; a model's request for tools stands beside its text."""
    step = Step(trace.columns, row)
    yield from _side(step, "input", step.input)
    if is_answered:
        yield from _side(step, "output", step.output)
    calls = _attributes(step).get("tool_calls") if step.kind == "LLM" else None
    if calls:
        yield _row_item(step, "calls", calls)


def _side(step: Step, side: str, text: str | None) -> list[Item]:
    if text is None or not text.strip():
        return []
    value = body(text)
    items = items_of(value, ROW, side)
    if items[0].part == MESSAGE:
        return [replace(item, step_id=step.step_id) for item in items]
    return [_row_item(step, side, value)]


def _row_item(step: Step, side: str, value: Any) -> Item:
    return make_item(ROW, value, place=side, role=step.kind, name=step.name, step_id=step.step_id)


def _attributes(step: Step) -> dict[str, Any]:
    """Return the attributes of a step; none where they are nested too deeply to be read."""
    with deep_nesting():
        try:
            return step.attributes
        except (ValueError, RecursionError):
            return {}

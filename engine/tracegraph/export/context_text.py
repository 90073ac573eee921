"""What was in view at a step as lines to read: one a thing, what changed marked ``+`` and ``-``."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from tracegraph.analysis.context.compare import Change
from tracegraph.analysis.context.items import CHANNEL, Item
from tracegraph.analysis.context.view import NONE, ROWS, STATE, Context
from tracegraph.export.document import to_json
from tracegraph.export.text import counted, shortened, visible
from tracegraph.export.traces import ListedTrace
from tracegraph.model.step import Step

LONGEST = 200
"""Characters of a value that a line shows; how many more there are is said."""
_NOTHING = "the record does not hold what it was given"


def context_lines(
    listed: ListedTrace,
    context: Context,
    since: Context | None,
    change: Change | None,
    *,
    full: bool,
) -> Iterator[str]:
    """Yield what was in view; with a change, what left and entered, and how much stayed.

    ``full`` shows values whole, and beside a change what stayed.
    """
    trace = listed.trace
    longest = None if full else LONGEST
    yield visible(f"{listed.label} ({trace.source}, {trace.status}, {trace.fidelity})") + "\n"
    yield f"in view at {_title(listed, context)}\n"
    if since is not None and change is not None:
        yield f"since {_title(listed, since)}\n"
        yield from _changes(context, change, longest, full=full)
        order = ", in another order" if change.reordered else ""
        entered = sum(change.entered)
        yield f"{entered} entered, {len(change.left)} left, {change.stayed} stayed{order}\n"
    else:
        yield from (f"  {_line(item, longest)}\n" for item in context.items)
    for channel in context.unreadable:
        yield visible(f"  channel {channel} is recorded and cannot be shown") + "\n"
    gaps = ", ".join(f"{gap.code} {gap.count}" for gap in trace.gaps)
    if gaps:
        yield f"gaps: {gaps}\n"


def shown(item: Item, longest: int | None) -> str:
    """Return the value of an item to read: of a message its text and the calls that it asks for."""
    text = item.value if isinstance(item.value, str) else _said(item.value) or to_json(item.value)
    return text if longest is None else shortened(text, longest)


def _changes(context: Context, change: Change, longest: int | None, *, full: bool) -> Iterator[str]:
    """Yield what left and entered; the old value of a channel stands before the new one."""
    left = {item.place: item for item in change.left if _is_value(item)}
    marked = list(zip(context.items, change.entered, strict=True))
    renewed = {item.place for item, entered in marked if entered and _is_value(item)}
    for item in change.left:
        if not _is_value(item) or item.place not in renewed:
            yield f"- {_line(item, longest)}\n"
    for item, entered in marked:
        if entered and _is_value(item) and item.place in left:
            yield f"- {_line(left[item.place], longest)}\n"
        if entered or full:
            yield f"{'+' if entered else ' '} {_line(item, longest)}\n"


def _is_value(item: Item) -> bool:
    """Tell whether an item is all that its channel holds."""
    return item.part == CHANNEL and item.index is None


def _title(listed: ListedTrace, context: Context) -> str:
    step = Step(listed.trace.columns, context.row)
    parts = Counter(item.part for item in context.items)
    where = {
        STATE: [f"checkpoint {context.checkpoint}"],
        ROWS: ["the log up to it"],
        NONE: [_NOTHING],
    }.get(context.view, [])
    held = [counted(number, part) for part, number in parts.items()]
    name = f"{step.kind} {step.name or '(no name)'} {step.status} @{step.step_id}"
    return visible(f"{name}: {', '.join(where + held)}")


def _line(item: Item, longest: int | None) -> str:
    parts = [item.part, item.place or ""]
    parts += [f"[{item.index}]" if item.index is not None else ""]
    parts += [item.role or "", item.name or ""]
    label = " ".join(part for part in parts if part)
    return visible(f"{label} ({counted(item.size, 'byte')}): {shown(item, longest)}")


def _said(value: Any) -> str | None:
    """Return text and calls of a message in all its spellings; None where it has neither."""
    if not isinstance(value, dict):
        return None
    content = value.get("content")
    pieces = [content] if isinstance(content, str) else []
    for listed in (content, value.get("parts"), value.get("tool_calls")):
        pieces += listed if isinstance(listed, list) else []
    return " ".join(_piece(piece) for piece in pieces if piece) or None


def _piece(piece: Any) -> str:
    if isinstance(piece, str):
        return piece
    if not isinstance(piece, dict):
        return to_json(piece)
    function = piece.get("function")
    call = function if isinstance(function, dict) else piece
    given = next((call[key] for key in ("arguments", "args", "input") if key in call), None)
    if isinstance(call.get("name"), str) and given is not None:
        return f"{call['name']}({given if isinstance(given, str) else to_json(given)})"
    texts = (piece.get(key) for key in ("text", "content", "response", "result"))
    return next((text for text in texts if isinstance(text, str) and text), to_json(piece))

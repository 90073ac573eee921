"""What was in view at a step: document, table. A local answer: bodies stand as recorded."""

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain
from typing import Any

from tracegraph.analysis.context.compare import Change
from tracegraph.analysis.context.items import Item
from tracegraph.analysis.context.view import Context
from tracegraph.export.context_text import shown
from tracegraph.export.table import Report, Table
from tracegraph.export.traces import ListedTrace, gap_items
from tracegraph.model.step import Step

ENTERED, LEFT, STAYED = "entered", "left", "stayed"
_COLUMNS = ("change", "part", "place", "index", "role", "name", "step_id", "size", "value")


def context_report(
    listed: ListedTrace,
    context: Context,
    since: Context | None,
    change: Change | None,
    longest: int | None,
) -> Report:
    """Report what was in view at a step.

    Args:
        listed: the trace.
        context: what was in view.
        since: what was in view at an earlier step, to say what changed since then.
        change: what did.
        longest: characters of a value that a table shows, None for all; documents have it whole.
    """
    trace = listed.trace
    left = change.left if change is not None else []

    def items() -> Iterator[dict[str, Any]]:
        return (_item(item, word) for item, word in _changed(context, change))

    def members() -> dict[str, Any]:
        return {
            "trace_id": trace.trace_id,
            "label": listed.label,
            "fidelity": trace.fidelity,
            "step": _step(listed, context),
            "since": None if since is None else _step(listed, since),
            "items": items(),
            "left": (_item(item, LEFT) for item in left),
            "stayed": change and change.stayed,
            "reordered": change and change.reordered,
            "gaps": gap_items({gap.code: gap.count for gap in trace.gaps}),
        }

    def everything() -> Iterator[dict[str, Any]]:
        yield from items()
        yield from (_item(item, LEFT) for item in left)

    def table() -> Table:
        rows = chain(_changed(context, change), ((item, LEFT) for item in left))
        return Table(_COLUMNS, map(partial(_row, longest=longest), rows))

    return Report("context", 1, members, everything, table)


def _changed(context: Context, change: Change | None) -> Iterable[tuple[Item, str | None]]:
    """Return the items in view, each with whether it entered or stayed."""
    if change is None:
        return ((item, None) for item in context.items)
    words = (ENTERED if entered else STAYED for entered in change.entered)
    return zip(context.items, words, strict=True)


def _step(listed: ListedTrace, context: Context) -> dict[str, Any]:
    step = Step(listed.trace.columns, context.row)
    return {
        "step_id": step.step_id,
        "seq": step.seq,
        "kind": step.kind,
        "name": step.name,
        "status": step.status,
        "view": context.view,
        "checkpoint_id": context.checkpoint,
        "unreadable": list(context.unreadable),
        "count": len(context.items),
        "size": sum(item.size for item in context.items),
    }


def _item(item: Item, change: str | None) -> dict[str, Any]:
    return {
        "change": change,
        "part": item.part,
        "place": item.place,
        "index": item.index,
        "role": item.role,
        "name": item.name,
        "step_id": item.step_id,
        "size": item.size,
        "digest": item.digest,
        "value": item.value,
    }


def _row(found: tuple[Item, str | None], longest: int | None) -> tuple[Any, ...]:
    item, change = found
    return (
        change,
        item.part,
        item.place,
        item.index,
        item.role,
        item.name,
        item.step_id,
        item.size,
        shown(item, longest),
    )

"""Find a step of a trace by what people write: its id, the start or the end of one."""

from tracegraph.corpus.lookup import closest
from tracegraph.errors import UsageError
from tracegraph.export.traces import ListedTrace

_SHOWN = 10


def select_step(listed: ListedTrace, reference: str) -> int:
    """Return the row of the one step that a reference names.

    Raises:
        UsageError: none or several fit; the message lists them.
    """
    rows = listed.trace.rows
    ids = listed.trace.columns.step_id[rows.start : rows.stop]
    for fits in (str.__eq__, str.startswith, str.endswith):
        found = [at for at, step_id in enumerate(ids) if fits(step_id, reference)]
        if len(found) == 1:
            return rows[found[0]]
        if found:
            shown = ", ".join(ids[at] for at in found[:_SHOWN])
            more = ", ..." if len(found) > _SHOWN else ""
            raise UsageError(f"{reference!r} is ambiguous, {len(found)} steps fit: {shown}{more}")
    place = f"{listed.trace.file}#{listed.label}" if listed.trace.file else listed.label
    near = closest(reference, ids) or "; tracegraph inspect shows the ids behind @"
    raise UsageError(f"{place}: no step {reference!r}{near}")

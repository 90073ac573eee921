"""From the rows of one agent-lattice trace to its steps: runs, what they hold, what joins them.

A trace is the tree of runs below a run without parent. A team's root, its lead and its members lie
below one root, so every cause among them lies in one trace; the successive queries of one agent
have roots of their own and share the session.
"""

import re
from collections.abc import Iterator, Sequence
from hashlib import blake2b

from tracegraph.ingest.agent_lattice.index import RunPlaces
from tracegraph.ingest.agent_lattice.records import decode_row
from tracegraph.ingest.agent_lattice.run import Run
from tracegraph.ingest.agent_lattice.team import link_runs
from tracegraph.ingest.agent_lattice.tools import Use
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.source import Source
from tracegraph.model.codes import KIND_CODE
from tracegraph.model.draft import Draft

_LIKE_A_LINE = re.compile(r"[\d.]*|run:.*", re.DOTALL)


def add_trace(
    draft: Draft, trace_id: str, places: Sequence[RunPlaces], source: Source, losses: Losses
) -> None:
    """Append a trace to the draft.

    Gap codes: ``agent_lattice.contradictory_ids``, ``agent_lattice.duplicate_row``,
    ``agent_lattice.missing_parent``, and those of the modules that read the rows.
    """
    draft.begin(
        trace_id,
        source="agent_lattice",
        file=source.name,
        file_digest=source.digest,
        run_id=trace_id,
        session_id=next((place.session_id for place in places if place.session_id), None),
    )
    runs = {place.run_id: _open(draft, place, losses) for place in places}
    _contain(draft, runs, losses)
    latest: dict[str, Run] = {}
    for run_id, number, line in _rows(source, places, losses):
        run = runs[run_id]
        row = decode_row(line, f"line {number}", losses)
        if row is None:
            continue
        unread: list[Use] = []
        if row.type == "model_request" and run.conversation is not None:
            before = latest.get(run.conversation, run)
            unread = before.tools.turn if before is not run else []
            latest[run.conversation] = run
        run.add(row, number, unread)
    for run in runs.values():
        run.finish()
    link_runs(draft, runs, losses)
    root = runs.get(trace_id)
    draft.traces.agent[-1] = None if root is None else draft.steps.agent[root.row]
    draft.traces.gaps[-1].update(losses.counts)


def _open(draft: Draft, place: RunPlaces, losses: Losses) -> Run:
    """Append the AGENT step of a run. Its id is the run's; other steps have their line for one."""
    if place.conflicts:
        what = f"run {place.run_id!r} names two sessions or parents"
        losses.add("agent_lattice.contradictory_ids", what, place.conflicts)
    if place.session_id is None:
        what = f"run {place.run_id!r} names no session"
        losses.add("agent_lattice.missing_field", what)
    is_like_a_line = _LIKE_A_LINE.fullmatch(place.run_id)
    step_id = f"run:{place.run_id}" if is_like_a_line else place.run_id
    row = draft.step(step_id, kind=KIND_CODE["AGENT"])
    return Run(draft, row, place.session_id, place.parent_id, losses)


def _contain(draft: Draft, runs: dict[str, Run], losses: Losses) -> None:
    for run in runs.values():
        if run.parent_id is None:
            continue
        parent = runs.get(run.parent_id)
        if parent is not None:
            draft.link(run.row, parent.row, "span_parent")
        else:
            draft.steps.orphan[run.row] = True
            what = f"the run {run.parent_id!r} above another is not in the file"
            losses.add("agent_lattice.missing_parent", what)


def _rows(
    source: Source, places: Sequence[RunPlaces], losses: Losses
) -> Iterator[tuple[str, int, bytes]]:
    """Yield (run id, line number, line) in the order of the file, a line written twice once.

    Two rows of one tracer differ in ``seq``, so equal lines are one row in two sinks.
    """
    merged = sorted(
        (start, number, size, place.run_id)
        for place in places
        for start, number, size in zip(place.starts, place.numbers, place.sizes, strict=True)
    )
    seen: set[bytes] = set()
    for start, number, size, run_id in merged:
        line = bytes(source.data[start : start + size])
        mark = _mark(line)
        if mark in seen:
            losses.add("agent_lattice.duplicate_row", f"line {number} is there before")
            continue
        seen.add(mark)
        yield run_id, number, line


def _mark(line: bytes) -> bytes:
    """Return what tells a line from others; a line is not kept, since histories are long."""
    return blake2b(line.strip(), digest_size=16).digest()

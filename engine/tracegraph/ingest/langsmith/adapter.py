"""LangSmith runs: nested under their root, listed flat, or a page of them; also one a line.

The platform knows no links between runs, only parents: what caused what follows from the messages
of model runs and from the metadata that LangGraph attaches.
"""

import re
from collections.abc import Iterator, Sequence

from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.langsmith.fields import keep_bodies, make_record
from tracegraph.ingest.langsmith.records import AREA, Found, RunRecord, read_run, rest_of, runs_in
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.opening import opening_keys
from tracegraph.ingest.source import Source
from tracegraph.ingest.spans.exports import ExportReader
from tracegraph.model.codes import FIDELITY_CODE
from tracegraph.model.draft import Draft

_RUN = re.compile(rb'"run_type"\s*:\s*"')
_OTHERS = re.compile(rb'"(?:child_runs|child_run_ids|dotted_order|parent_run_id|trace_id)"\s*:')
_MEMBERS = frozenset({"run_type", "child_runs", "runs"})


class LangsmithAdapter:
    """Reads exported LangSmith runs."""

    name = AREA
    version = 1
    unites = False

    def sniff(self, source: Source) -> bool:
        """Tell by the type of a run beside what names its place in a trace."""
        head = source.head
        if opening_keys(source).isdisjoint(_MEMBERS):
            return False
        return bool(_RUN.search(head) and _OTHERS.search(head))

    def read(self, sources: Sequence[Source], options: ReadOptions) -> Iterator[Draft]:
        """Yield the traces of each file.

        Gap codes: those of :mod:`tracegraph.ingest.span_gaps`, and ``langsmith.unreadable_field``,
        ``langsmith.unknown_run_type``, ``langsmith.status_contradicts_error``,
        ``langsmith.dotted_order_differs`` (ids in ``dotted_order`` are not those of run, parent and
        trace; the parent that ``parent_run_id`` names stays).
        """
        yield from _Reader(sources, options).read()


class _Reader(ExportReader[tuple[Found, RunRecord]]):
    """Reads the runs of the sources."""

    area = AREA
    fidelity = FIDELITY_CODE["parent_only"]
    noun = "run"
    items = staticmethod(runs_in)

    def item(self, value: Found, shown: str, losses: Losses) -> tuple[Found, RunRecord] | None:
        """Read a run."""
        run = read_run(value.value, shown, losses)
        return None if run is None else (value, run)

    def take(self, items: Sequence[tuple[tuple[Found, RunRecord], Losses]], index: int) -> None:
        """Take the runs whose trace is asked for."""
        traces = _traces([item for item, _ in items])
        for number, ((item, losses), trace_id) in enumerate(zip(items, traces, strict=True), 1):
            trace = self.open_trace(trace_id, index)
            if trace is None:
                continue
            found, run = item
            record = make_record(run, found.holder, trace_id, losses)
            if self.options.keep_content:
                keep_bodies(record, run, rest_of(found.value), losses)
            if run.session_name:
                trace.attributes.setdefault("project", run.session_name)
            self.keep_item(trace, record, index, number, losses)


def _traces(runs: Sequence[tuple[Found, RunRecord]]) -> list[str]:
    """Return the trace id of each run: its own, that of its root, else the root's run id.

    A run whose parents lead out of the file belongs with the others below the same missing one.
    """
    above = {run.id: run.parent_run_id or item.holder for item, run in runs}
    known: dict[str, str] = {}
    for item, run in runs:
        own = run.trace_id or next(iter(run.lineage()), None) or item.root
        if own:
            known[run.id] = own
    for _, run in runs:
        climbed, at = [], run.id
        while at not in known:
            climbed.append(at)
            parent = above.get(at)
            known[at] = at  # the top, unless there is more above; and a cycle ends here
            if parent is None:
                break
            at = parent
        for below in climbed:
            known[below] = known[at]
    return [known[run.id] for _, run in runs]

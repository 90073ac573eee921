"""Who&When: one JSON document a run; also an array of them, or one a line."""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import PurePosixPath
from typing import NamedTuple

from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.documents import read_documents
from tracegraph.ingest.free_ids import FreeIds
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.opening import opening_keys
from tracegraph.ingest.source import HEAD_BYTES, Source
from tracegraph.ingest.whowhen.draft import add_log
from tracegraph.ingest.whowhen.records import AREA, Log, read_log
from tracegraph.model.draft import Draft

_LABELS = frozenset({"mistake_agent", "mistake_step", "is_correct", "is_corrected"})
_LABEL = re.compile(rb'"mistake_(?:agent|step)"\s*:')


class _Run(NamedTuple):
    trace_id: str
    log: Log


class WhowhenAdapter:
    """Reads the runs of Who&When and their labels."""

    name = AREA
    version = 1
    unites = False

    def sniff(self, source: Source) -> bool:
        """Tell by a history and the labels beside it, which in some files stand behind it."""
        opening = opening_keys(source)
        if "history" not in opening:
            return False
        tail = source.data[max(0, len(source) - HEAD_BYTES) :]
        return not opening.isdisjoint(_LABELS) or bool(_LABEL.search(tail))

    def read(self, sources: Sequence[Source], options: ReadOptions) -> Iterator[Draft]:
        """Yield one draft a file.

        Gap codes: ``whowhen.unreadable_trace`` (of the file), ``whowhen.unreadable_message``,
        ``whowhen.unreadable_field``, ``whowhen.result_without_call``.
        """
        for source in sources:
            run = partial(_run, ids=FreeIds())
            yield read_documents(source, options, AREA, run, _trace_id, _add)


def _run(data: bytes, place: str, losses: Losses, ids: FreeIds) -> _Run:
    log = read_log(data, place, losses)
    file = PurePosixPath(place.partition(": ")[0]).stem
    return _Run(ids.take((log.question_id or "").strip() or file), log)


def _trace_id(run: _Run) -> str:
    return run.trace_id


def _add(draft: Draft, run: _Run, source: Source, losses: Losses) -> None:
    add_log(draft, run.trace_id, run.log, source, losses)

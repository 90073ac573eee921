"""What CrewAI records of a crew: its result (``CrewOutput`` as JSON), its log, and its events.

Sources: ``crewai.crews.crew_output``, ``crewai.tasks.task_output``,
``crewai.utilities.file_handler`` and ``crewai.events`` of crewai 1.15.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.crewai.event_reader import EventReader
from tracegraph.ingest.crewai.events import MEMBERS
from tracegraph.ingest.crewai.log import read_log
from tracegraph.ingest.crewai.output import Output, add_output, read_output
from tracegraph.ingest.crewai.records import AREA
from tracegraph.ingest.documents import read_documents
from tracegraph.ingest.free_ids import FreeIds
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.opening import opening_keys
from tracegraph.ingest.source import Source
from tracegraph.model.draft import Draft

_RESULT = frozenset({"tasks_output", "tasks"})
_TASK = (b'"raw"', b'"agent"')
_ENTRY = frozenset({"timestamp", "task", "agent", "status"})
_STATUS = re.compile(rb'"status"\s*:\s*"(?:started|completed)"')


class CrewaiAdapter:
    """Reads results, logs and events of crews."""

    name = AREA
    version = 1
    unites = False

    def sniff(self, source: Source) -> bool:
        """Tell a result by its list of tasks, a log and events by their members."""
        return _is_result(source) or _is_log(source) or _is_events(source)

    def read(self, sources: Sequence[Source], options: ReadOptions) -> Iterator[Draft]:
        """Yield the traces of each file.

        Gap codes: of results ``crewai.unreadable_trace`` (of the file), ``crewai.unreadable_task``,
        ``crewai.unreadable_message``, ``crewai.unreadable_field``, ``crewai.result_without_call``,
        ``crewai.missing_output``, ``crewai.ambiguous_tool_failure``,
        ``crewai.unmatched_tool_failure``; of logs ``crewai.unreadable_entry`` (of the file),
        ``crewai.unreadable_field``, ``crewai.local_time``, ``crewai.end_without_start``; of events
        those of :mod:`tracegraph.ingest.span_gaps`, ``crewai.unreadable_field`` and
        ``crewai.events_left_out`` (of the file).
        """
        for source in sources:
            ids, name = FreeIds(), PurePosixPath(source.name).stem
            if _is_events(source):
                yield from EventReader([source], options).read()
                continue
            if _is_log(source):
                yield read_log(source, options, ids, name)
                continue

            def output(
                data: bytes, place: str, losses: Losses, ids: FreeIds = ids, name: str = name
            ) -> Output:
                return Output(ids.take(name), read_output(data, place, losses))

            yield read_documents(source, options, AREA, output, _trace_id, add_output)


def _trace_id(output: Output) -> str:
    return output.trace_id


def _is_result(source: Source) -> bool:
    if opening_keys(source).isdisjoint(_RESULT):
        return False
    return all(mark in source.head for mark in _TASK)


def _is_events(source: Source) -> bool:
    if opening_keys(source) >= MEMBERS:
        return True
    return b'"event_record"' in source.head and b'"emission_sequence"' in source.head


def _is_log(source: Source) -> bool:
    return opening_keys(source) >= _ENTRY and bool(_STATUS.search(source.head))

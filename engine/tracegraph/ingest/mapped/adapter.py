"""Home-made logs: JSON Lines, JSON or CSV, read by the mapping that ``--map`` names.

No content tells such a file, so nothing is ever taken for one: only a mapping chooses this.
"""

from collections.abc import Iterator, Sequence

from tracegraph.errors import UnknownFormatError, UsageError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.free_ids import FreeIds
from tracegraph.ingest.mapped.arrange import AREA, add_trace
from tracegraph.ingest.mapped.field_map import FieldMap
from tracegraph.ingest.mapped.gather import Gathered
from tracegraph.ingest.mapped.parts import Held, whole_steps
from tracegraph.ingest.mapped.path import ABSENT
from tracegraph.ingest.mapped.records import Record, Records, none_of
from tracegraph.ingest.mapped.unused import UnusedColumns
from tracegraph.ingest.source import Source
from tracegraph.model.draft import Draft

_STEPS_A_DRAFT = 50_000


class MappedAdapter:
    """Reads what a mapping describes."""

    name = AREA
    version = 1
    unites = False

    def sniff(self, source: Source) -> bool:
        """Say no: the same columns mean other things in other logs."""
        return False

    def read(self, sources: Sequence[Source], options: ReadOptions) -> Iterator[Draft]:
        """Yield the traces of each file; the last draft of one says what the mapping left of it.

        Gap codes: ``mapped.unreadable_record`` and ``mapped.empty_record`` (of the file),
        ``mapped.absent_column`` (of the file, once a column), ``mapped.extra_cells``,
        ``mapped.missing_cells``, ``mapped.unreadable_field``, ``mapped.unreadable_timestamp``,
        ``mapped.unreadable_duration``, ``mapped.unreadable_token_count``,
        ``mapped.unreadable_cost``, ``mapped.unknown_status``, ``mapped.unknown_kind``,
        ``mapped.status_contradicts_error``, ``mapped.missing_id``, ``mapped.missing_trace_id``,
        ``mapped.duplicate_step``, ``mapped.duplicate_identical``, ``mapped.missing_parent``,
        ``mapped.self_parent``, ``mapped.ambiguous_parent``, ``mapped.missing_cause``,
        ``mapped.ambiguous_cause``, ``mapped.conflicting_label``, ``mapped.conflicting_run_id``.

        Raises:
            UsageError: the options hold no mapping.
        """
        if options.mapping is None:
            raise UsageError("a home-made log is read by a mapping: name one with --map")
        for source in sources:
            yield from _File(source, options, options.mapping).drafts()


class _File:
    """One file while it is read."""

    def __init__(self, source: Source, options: ReadOptions, field_map: FieldMap) -> None:
        self._source, self._options, self._map = source, options, field_map
        self._gathered = Gathered(source, options, field_map)
        self._unused = UnusedColumns(field_map.paths)
        self._absent = dict(field_map.fields)

    def drafts(self) -> Iterator[Draft]:
        """Yield the traces."""
        records = self._records()
        self._read(records)
        self._note_absent(records)
        ids = FreeIds(trace.trace_id for trace in self._gathered.traces)
        draft = Draft(keep_content=self._options.keep_content)
        only = self._options.only
        for trace in self._gathered.traces:
            trace_id = ids.take(trace.trace_id)
            if only is not None and trace_id not in only:
                continue
            if len(draft.steps.step_id) >= _STEPS_A_DRAFT:
                yield draft
                draft = Draft(keep_content=self._options.keep_content)
            add_trace(draft, trace, trace_id, self._gathered, self._source)
        draft.file_gaps.update(records.outside.counts)
        draft.unmapped = self._gathered.tally.unmapped(self._unused)
        yield draft

    def _records(self) -> Records:
        return Records(
            self._source,
            self._options.strict,
            self._map.records,
            self._map.delimiter,
            self._map.paths,
        )

    def _read(self, records: Records) -> None:
        """Gather the steps.

        Raises:
            UnknownFormatError: no record has a value in a column of the mapping.
        """
        found = self._with_values(records)
        for record, held in whole_steps(found, self._map) if self._map.has_parts else found:
            self._gathered.add(record, held)
        if self._gathered.numbers:
            return
        columns = self._unused.columns
        if records.refusal is not None and not columns:  # else the mapping is wrong, not the file
            raise records.refusal
        if not records.count:
            raise UnknownFormatError(f"{self._source.name}: holds no record")
        raise none_of(self._source.name, columns or records.columns)

    def _with_values(self, records: Records) -> Iterator[Held]:
        """Yield the records that have a value in a column of the mapping, and their values.

        Gap code: ``mapped.empty_record``.
        """
        own = {name for name, path in self._map.fields.items() if not path.of_document}
        for record in records:
            self._unused.note(record.values)
            if self._absent:
                self._note_present(record)
            held = self._map.values(record.values, record.document)
            if not own.isdisjoint(held):
                yield record, held
            else:
                what = f"{record.place}: no value in any column of the mapping"
                records.outside.add("mapped.empty_record", what)

    def _note_present(self, record: Record) -> None:
        found = [
            name
            for name, path in self._absent.items()
            if path.find(record.values, record.document) is not ABSENT
        ]
        for name in found:
            del self._absent[name]

    def _note_absent(self, records: Records) -> None:
        """Disclose each column of the mapping that no record has."""
        for name, path in self._absent.items():
            records.outside.add("mapped.absent_column", f"no record has {path.text} ({name})")
            self._gathered.tally.add(name, "mapped.absent_column", "")

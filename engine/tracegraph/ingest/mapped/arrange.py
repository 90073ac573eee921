"""The gathered steps of a log to traces in a draft: ids, causes, and what is said of the whole."""

from collections import Counter
from dataclasses import fields

from tracegraph.ingest.attributes import dump
from tracegraph.ingest.free_ids import FreeIds
from tracegraph.ingest.mapped.field_map import CONTAINER, FieldMap
from tracegraph.ingest.mapped.gather import Gathered, TraceRows
from tracegraph.ingest.sessions import session_of
from tracegraph.ingest.source import Source
from tracegraph.model.draft import Draft, DraftSteps

AREA = "mapped"
_NO_TIME = 2**63
_AS_FLOAT = ".0"
"""What a column of whole numbers with gaps in it gets behind each, where pandas wrote it."""
_NOT_FOUND = {
    "parent": ("mapped.missing_parent", "mapped.ambiguous_parent"),
    "causes": ("mapped.missing_cause", "mapped.ambiguous_cause"),
}
"""Codes of an id that no record has, and of one that several have."""
_COLUMNS = tuple(column.name for column in fields(DraftSteps))


def add_trace(
    draft: Draft, trace: TraceRows, trace_id: str, gathered: Gathered, source: Source
) -> None:
    """Append a trace to the draft.

    Gap codes: ``mapped.duplicate_identical``, ``mapped.duplicate_step``, ``mapped.missing_parent``,
    ``mapped.self_parent``, ``mapped.ambiguous_parent``, ``mapped.missing_cause``,
    ``mapped.ambiguous_cause``, ``mapped.conflicting_run_id``, ``sessions.conflicting_id``.
    """
    _Arranged(draft, trace, gathered).add(trace_id, source, gathered.field_map)


class _Arranged:
    """One trace while it is put in order."""

    def __init__(self, draft: Draft, trace: TraceRows, gathered: Gathered) -> None:
        self._draft, self._trace, self._gathered = draft, trace, gathered
        self._places: dict[str, int] = {}
        self._repeated: set[str] = set()
        self._rows = self._kept()

    def add(self, trace_id: str, source: Source, field_map: FieldMap) -> None:
        """Append the trace: its steps, then what caused them."""
        gathered, rows = self._gathered, self._rows
        links = self._links(field_map)
        first = self._draft.begin(
            trace_id,
            source=AREA,
            file=source.name,
            file_digest=source.digest,
            run_id=self._run(),
            session_id=self._session(),
            agent=self._agent(),
            fidelity=field_map.fidelity,
            contained=any(origin == "span_parent" for _, _, origin in links),
            attributes=dump({"labels": self._trace.labels}) if self._trace.labels else None,
        )
        ids = self._ids()
        for name in _COLUMNS:
            column = getattr(gathered.steps, name)
            if column:
                getattr(self._draft.steps, name).extend([column[row] for row in rows])
        self._draft.steps.step_id[first:] = ids
        for effect, cause, origin in links:
            self._draft.link(first + effect, first + cause, origin)
        for at, row in enumerate(rows):
            parent = gathered.parents[row]
            if parent is not None and self._at(parent) in (None, at):
                self._draft.steps.orphan[first + at] = True
        self._draft.traces.gaps[-1].update(self._trace.gaps)

    def _kept(self) -> list[int]:
        """Return the rows that become steps: of records that say the same, one."""
        gathered, kept = self._gathered, list[int]()
        for row in self._trace.rows:
            own = gathered.steps.step_id[row]
            first = self._places.get(own)
            if own and first is not None:
                if self._says_the_same(kept[first], row):
                    self._disclose("step_id", "mapped.duplicate_identical", row)
                    continue
                self._repeated.add(own)
                self._disclose("step_id", "mapped.duplicate_step", row)
            elif own:
                self._places[own] = len(kept)
            kept.append(row)
        return kept

    def _says_the_same(self, one: int, other: int) -> bool:
        gathered = self._gathered
        columns = [getattr(gathered.steps, name) for name in _COLUMNS]
        columns += [gathered.parents, gathered.causes, gathered.sessions, gathered.runs]
        return all(column[one] == column[other] for column in columns if column)

    def _ids(self) -> list[str]:
        """Return the ids: the recorded ones first, so that a made one never takes their place."""
        recorded = [self._gathered.steps.step_id[row] for row in self._rows]
        free = FreeIds(self._places)
        ids = [free.take(own) if own else "" for own in recorded]
        made = "row-{}" if self._places else "{}"
        numbers = [self._gathered.numbers[row] for row in self._rows]
        return [
            own or free.take(made.format(number)) for own, number in zip(ids, numbers, strict=True)
        ]

    def _links(self, field_map: FieldMap) -> list[tuple[int, int, str]]:
        """Return (effect, cause, origin) of every recorded cause that is here."""
        origin = "span_parent" if field_map.parent_is == CONTAINER else "edge"
        links: list[tuple[int, int, str]] = []
        for at, row in enumerate(self._rows):
            parent = self._gathered.parents[row]
            if parent is not None:
                found = self._found(parent, "parent", row)
                if found == at:
                    self._disclose("parent", "mapped.self_parent", row)
                elif found is not None:
                    links.append((at, found, origin))
            for named in self._gathered.causes[row]:
                cause = self._found(named, "causes", row)
                if cause is not None:
                    links.append((at, cause, "edge"))
        return links

    def _found(self, named: str, field: str, row: int) -> int | None:
        """Return where the step is that a parent or a cause names, None where that is not clear."""
        found = self._at(named)
        if found is None:
            missing, ambiguous = _NOT_FOUND[field]
            self._disclose(field, ambiguous if named in self._repeated else missing, row)
        return found

    def _at(self, named: str) -> int | None:
        """Return where the step of an id is, None where it is not here or there several times."""
        if named not in self._places and named.endswith(_AS_FLOAT):
            named = named.removesuffix(_AS_FLOAT)
        return None if named in self._repeated else self._places.get(named)

    def _run(self) -> str | None:
        runs = {self._gathered.runs[row] for row in self._rows} - {None}
        if len(runs) > 1:  # which of them a report would mean is not known
            self._disclose("run_id", "mapped.conflicting_run_id", self._rows[0])
        return runs.pop() if len(runs) == 1 else None

    def _session(self) -> str | None:
        gathered, rows = self._gathered, self._rows

        def rank(at: int) -> tuple[bool, int, int]:
            start = gathered.steps.start[rows[at]]
            return gathered.parents[rows[at]] is not None, start if start >= 0 else _NO_TIME, at

        session, others = session_of([gathered.sessions[row] for row in rows], rank)
        if others:
            self._trace.gaps["sessions.conflicting_id"] += others
        return session

    def _agent(self) -> str | None:
        """Return the agent of a root, else the only one that the trace names."""
        named = [(self._gathered.parents[r], self._gathered.steps.agent[r]) for r in self._rows]
        agents = Counter(agent for _, agent in named if agent is not None)
        of_roots = (agent for parent, agent in named if parent is None and agent is not None)
        return next(of_roots, next(iter(agents), None) if len(agents) == 1 else None)

    def _disclose(self, name: str, code: str, row: int) -> None:
        self._gathered.unusable_in(self._trace, name, code, row)

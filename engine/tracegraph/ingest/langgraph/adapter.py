"""LangGraph's checkpoints in a SQLite database: one trace a thread, one step a task.

A checkpoint is the state between two steps of a graph; what ran in a step are its tasks, and the
``writes`` table holds what each of them wrote. How they are read: the history of a thread
(``history.py``) is followed once (``walk.py``), nodes are named by their ids (``proof.py``), and
what caused what follows from the channels (``causes.py``) and from the messages (``talk.py``).
Nothing of a database is ever imported or run.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import cached_property
from typing import Any

from tracegraph.errors import InputError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.attributes import dump
from tracegraph.ingest.free_ids import FreeIds
from tracegraph.ingest.langgraph.blob import BlobReader
from tracegraph.ingest.langgraph.draft import add_steps
from tracegraph.ingest.langgraph.elsewhere import candidates_elsewhere
from tracegraph.ingest.langgraph.given import add_states
from tracegraph.ingest.langgraph.history import History, read_history
from tracegraph.ingest.langgraph.pending import is_unfinished, newest, run_status
from tracegraph.ingest.langgraph.proof import Candidates, is_unproven, prove
from tracegraph.ingest.langgraph.schedule import Schedule, open_schedule
from tracegraph.ingest.langgraph.silent import add_cached, fill_in
from tracegraph.ingest.langgraph.tables import Layout, Tables, is_checkpoints, name
from tracegraph.ingest.langgraph.walk import Walk
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.source import Source
from tracegraph.ingest.sqlite_file import open_copy, tables
from tracegraph.model.draft import Draft

_AREA = "langgraph"
_UNNAMED = "(unnamed)"
"""The id of a trace whose thread has a blank one, which LangGraph takes and an artifact cannot."""


class LanggraphAdapter:
    """Reads databases of LangGraph's SqliteSaver, of 2024 to 1.x."""

    name = _AREA
    version = 1
    unites = False

    def sniff(self, source: Source) -> bool:
        """Tell by the tables of the database."""
        return is_checkpoints(tables(source))

    def read(self, sources: Sequence[Source], options: ReadOptions) -> Iterator[Draft]:
        """Yield one draft a thread; ``options.only`` are thread ids.

        Gap codes are listed where they are found: :func:`read_history`, :meth:`Walk.run`,
        :func:`add_steps`, :class:`Causes`, :func:`judge_task`, :func:`find_failed_calls`,
        :class:`BlobReader`; ``langgraph.unfinished_run``: the last checkpoint schedules tasks of
        which nothing is recorded, as after the recursion limit, a kill, or at a breakpoint; and
        once a trace ``langgraph.last_attempts_only``, which no database tells more of.
        """
        for source in sources:
            layout = tables(source)
            if not is_checkpoints(layout):
                raise InputError(f"{source.name}: no database of LangGraph checkpoints")
            with ExitStack() as opened:
                connection = opened.enter_context(open_copy(source))
                schedule = None
                if options.graph is not None:
                    schedule = opened.enter_context(open_schedule(options.graph, connection))
                yield from _Reading(source, options, connection, layout, schedule).drafts()


class _Reading:
    """One database that is being read."""

    def __init__(
        self,
        source: Source,
        options: ReadOptions,
        connection: sqlite3.Connection,
        layout: Layout,
        schedule: Schedule | None,
    ) -> None:
        self._source = source
        self._options = options
        self._schedule = schedule
        self._tables = Tables(connection, layout, source.limit)

    def drafts(self) -> Iterator[Draft]:
        ids = FreeIds()  # another thread's, stored as another type, may read the same
        try:
            for thread in self._tables.threads():
                trace_id = ids.take(name(thread) or _UNNAMED)
                if self._options.only is None or trace_id in self._options.only:
                    yield self._read_thread(thread, trace_id)
        except sqlite3.Error as error:
            raise InputError(f"{self._source.name}: a damaged database: {error}") from None

    @cached_property
    def _elsewhere(self) -> Candidates:
        return candidates_elsewhere(self._tables)

    def _read_thread(self, thread: Any, trace_id: str) -> Draft:
        options = self._options
        losses = Losses(self._source.name, options.strict)
        blobs = BlobReader(losses)
        history = read_history(self._tables, thread, blobs, losses)
        walk = Walk(self._tables, blobs, losses, options.error_channel, options.keep_content)
        walk.run(history)
        candidates = Candidates(history.checkpoints)
        tasks = list(walk.order)
        for found in history.checkpoints:
            prove(found, candidates)
            if is_unproven(found):
                prove(found, self._elsewhere)
            tasks += add_cached(found)
            fill_in(found)
        last = newest(history)
        unfinished = last is not None and is_unfinished(last, candidates)
        if unfinished:
            losses.add("langgraph.unfinished_run", f"thread {trace_id}: tasks did not run")
        attributes = None
        if self._schedule is not None and last is not None:
            scheduled = self._schedule.tasks(thread, last, losses)
            last.tasks += scheduled
            tasks += scheduled
            attributes = dump({"schedule_graph": self._schedule.fingerprint})
        draft = Draft(keep_content=options.keep_content)
        draft.begin(
            trace_id,
            source=_AREA,
            file=self._source.name,
            file_digest=self._source.digest,
            run_id=_run_id(history),
            session_id=trace_id,
            agent=next((c.agent for c in history.checkpoints if not c.namespace and c.agent), None),
            contained=False,
            attributes=attributes,
        )
        verdicts = add_steps(draft, history, tasks, walk.talk, losses)
        if options.state_of:
            add_states(draft, tasks, options.state_of, self._tables)
        if last is not None:
            draft.traces.status[-1] = run_status(last, unfinished, verdicts)
        draft.traces.gaps[-1].update(losses.counts)
        draft.gap("langgraph.last_attempts_only")
        return draft


def _run_id(history: History) -> str | None:
    """Return the run that all checkpoints of a thread name."""
    named = {found.run_id for found in history.checkpoints if found.place >= 0}
    return named.pop() if len(named) == 1 else None

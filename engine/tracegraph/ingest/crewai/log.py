"""The log of a crew (``output_log_file`` with a name that ends in ``.json``): a list of entries.

An entry says that a task started or completed. The log is added to by every run of the crew, so a
task that starts again after it completed opens another trace. Its times are those of the clock on
the wall, to the second and without a zone; they are read as UTC, and that is disclosed.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from tracegraph.errors import InputError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.attributes import dump
from tracegraph.ingest.crewai.records import AREA
from tracegraph.ingest.documents import documents
from tracegraph.ingest.free_ids import FreeIds
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.source import Source
from tracegraph.ingest.tolerant_json import decode_json
from tracegraph.ingest.transcript.fields import Fields
from tracegraph.model.codes import FIDELITY_CODE, KIND_CODE, STATUS_CODE
from tracegraph.model.draft import Draft

_Task = tuple[str | None, str | None, str | None]
STARTED, COMPLETED = "started", "completed"


def read_log(source: Source, options: ReadOptions, ids: FreeIds, name: str) -> Draft:
    """Read a log; an entry that cannot be read costs itself.

    Gap codes: ``crewai.unreadable_entry``, ``crewai.unreadable_field``, ``crewai.local_time``,
    ``crewai.end_without_start``.

    Raises:
        InputError: it holds no entry that can be read.
        StrictError: strict, and something was lost.
    """
    draft = Draft(keep_content=options.keep_content)
    outside = Losses(source.name, options.strict)
    entries = [
        entry
        for number, entry in enumerate(_entries(source, outside), 1)
        if _is_entry(entry, number, outside)
    ]
    if not entries:
        raise InputError(f"{source.name}: a log of a crew without an entry that can be read")
    for run in _runs(entries):
        trace_id = ids.take(name)
        if options.only is None or trace_id in options.only:
            _add_run(draft, run, trace_id, source, Losses(source.name, options.strict))
    draft.file_gaps.update(outside.counts)
    return draft


def _entries(source: Source, losses: Losses) -> Iterator[Any]:
    for place, data in documents(source, losses):
        try:
            yield decode_json(data, place, losses)
        except InputError as error:
            losses.add("crewai.unreadable_entry", str(error).removeprefix(f"{source.name}: "))


def _is_entry(value: Any, number: int, losses: Losses) -> bool:
    is_one = isinstance(value, dict) and value.get("status") in (STARTED, COMPLETED)
    if not is_one:
        losses.add("crewai.unreadable_entry", f"entry {number} cannot be used")
    return is_one


def _task(entry: dict[str, Any]) -> _Task:
    name, task, agent = (
        value if isinstance(value, str) else None
        for value in (entry.get("task_name"), entry.get("task"), entry.get("agent"))
    )
    return name, task, agent


def _runs(entries: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    run: list[dict[str, Any]] = []
    started: set[_Task] = set()
    for entry in entries:
        task = _task(entry)
        if entry["status"] == STARTED and task in started:
            yield run
            run, started = [], set()
        started.add(task)
        run.append(entry)
    yield run


def _add_run(
    draft: Draft, run: list[dict[str, Any]], trace_id: str, source: Source, losses: Losses
) -> None:
    draft.begin(
        trace_id,
        source=AREA,
        file=source.name,
        file_digest=source.digest,
        fidelity=FIDELITY_CODE["order_only"],
    )
    losses.add("crewai.local_time", "times without a zone are read as UTC")
    waiting: dict[_Task, int] = {}
    for number, value in enumerate(run, 1):
        entry = Fields(value, f"entry {number}", AREA, losses)
        key = _task(value)
        row = waiting.pop(key, None) if value["status"] == COMPLETED else None
        if row is None:
            row = _add_task(draft, entry, f"task-{number}")
            if value["status"] == STARTED:
                waiting[key] = row
                draft.steps.start[row] = entry.time("timestamp")
                continue
            losses.add("crewai.end_without_start", f"entry {number}: a task that never started")
        steps = draft.steps
        steps.end[row] = entry.time("timestamp")
        steps.status[row], steps.status_source[row] = STATUS_CODE["ok"], "recorded"
        if draft.keep_content:
            steps.output[row] = entry.text("output")
    draft.traces.gaps[-1].update(losses.counts)


def _add_task(draft: Draft, entry: Fields, step_id: str) -> int:
    agent, name = entry.text("agent"), entry.text("task_name")
    keeps = draft.keep_content and name is not None
    return draft.step(
        step_id,
        kind=KIND_CODE["AGENT"],
        name=agent or name,
        agent=agent,
        input=entry.text("task"),
        attributes=dump({"name": name}) if keeps else None,
    )

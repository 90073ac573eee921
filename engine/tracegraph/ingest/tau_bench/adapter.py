"""Trajectories of tau-bench: a list of runs, each a task that one agent was given once.

Sources: the result records (``EnvRunResult``) that tau-bench 0.1 writes, one array a file. Messages
are those of a chat completion API and nothing has a time, so order is all that relates them beside
the calls of tools. The reward is the benchmark's verdict on the run: an evaluation, no step.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from msgspec import Struct

from tracegraph.errors import InputError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.attributes import dump
from tracegraph.ingest.documents import read_documents
from tracegraph.ingest.free_ids import FreeIds
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.opening import opening_keys
from tracegraph.ingest.source import Source
from tracegraph.ingest.tolerant_json import decode_json
from tracegraph.ingest.transcript.chat import Chat
from tracegraph.ingest.transcript.fields import Fields
from tracegraph.model.codes import FIDELITY_CODE, KIND_CODE, STATUS_CODE
from tracegraph.model.draft import Draft

AREA = "tau_bench"
_MEMBERS = frozenset({"task_id", "reward"})
_NUMBERS = {"task_id": "task", "trial": "trial"}


class Run(Struct):
    """A decoded run and the id of its trace."""

    trace_id: str
    value: dict[str, Any]


class TauBenchAdapter:
    """Reads tau-bench's result files."""

    name = AREA
    version = 1
    unites = False

    def sniff(self, source: Source) -> bool:
        """Tell by a trajectory beside the task's number and its reward.

        The task itself stands before the trajectory and may fill the head.
        """
        keys = opening_keys(source)
        return keys >= _MEMBERS and not keys.isdisjoint({"info", "traj"})

    def read(self, sources: Sequence[Source], options: ReadOptions) -> Iterator[Draft]:
        """Yield one draft a file.

        Gap codes: ``tau_bench.unreadable_trace`` (of the file), ``tau_bench.unreadable_message``,
        ``tau_bench.unreadable_field``, ``tau_bench.result_without_call``.
        """
        for source in sources:
            run = partial(_run, ids=FreeIds())
            yield read_documents(source, options, AREA, run, _trace_id, _add)


def _trace_id(run: Run) -> str:
    return run.trace_id


def _run(data: bytes, place: str, losses: Losses, ids: FreeIds) -> Run:
    """Decode a run.

    Raises:
        InputError: it is no JSON, or holds no trajectory.
    """
    value = decode_json(data, place, losses)
    if not isinstance(value, dict) or not isinstance(value.get("traj"), list):
        raise InputError(f"{place}: a run without a trajectory")
    parts = [f"{name}-{value[key]}" for key, name in _NUMBERS.items() if _is_whole(value.get(key))]
    return Run(ids.take(".".join(parts) or "run"), value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _add(draft: Draft, run: Run, source: Source, losses: Losses) -> None:
    fields = Fields(run.value, "the run", AREA, losses)
    draft.begin(
        run.trace_id,
        source=AREA,
        file=source.name,
        file_digest=source.digest,
        fidelity=FIDELITY_CODE["order_only"],
        contained=False,
        attributes=_labels(fields),
    )
    chat = Chat(draft, AREA, losses)
    for number, message in enumerate(fields.items("traj"), 1):
        chat.add(message, f"message-{number}")
    last = len(draft.steps.step_id) - 1
    is_waiting = any(asker == last for asker, _ in chat.transcript.waiting())
    chat.transcript.end()
    if is_waiting or not isinstance(run.value.get("info"), dict):
        draft.traces.status[-1] = STATUS_CODE["unset"]
    if "info" not in run.value:
        fields.refuse("info", "is absent: whether the run crashed is not known")
    _add_crash(draft, fields.inner("info"))
    draft.traces.gaps[-1].update(losses.counts)


def _labels(fields: Fields) -> str | None:
    """Return what the benchmark says of a run: numbers only, the task is text for the agent."""
    numbers = {key: fields.number(key) for key in ("task_id", "trial")}
    known: dict[str, object] = {key: each for key, each in numbers.items() if each is not None}
    reward = fields.number("reward")
    if reward is not None:
        known["evaluations"] = [{"name": "reward", "score": reward}]
    return dump(known) if known else None


def _add_crash(draft: Draft, info: Fields) -> None:
    """Append a step for a run that ended in an exception, of which only its text is kept."""
    if all(info.values.get(key) in (None, "") for key in ("error", "traceback")):
        return
    draft.step(
        "run",
        kind=KIND_CODE["CHAIN"],
        name="tau-bench",
        status=STATUS_CODE["error"],
        status_source="recorded",
        error_message=info.text("error"),
    )
    draft.traces.status[-1] = STATUS_CODE["error"]

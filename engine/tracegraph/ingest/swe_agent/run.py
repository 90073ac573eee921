"""A run as decoded, and what is said of it as a whole."""

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import msgspec

from tracegraph.errors import InputError
from tracegraph.ingest.attributes import dump
from tracegraph.ingest.free_ids import FreeIds
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.nesting import is_too_deep
from tracegraph.ingest.swe_agent.outcome import Outcome
from tracegraph.ingest.tolerant_json import decode_json
from tracegraph.ingest.transcript.fields import Fields

AREA = "swe_agent"
_LISTS = ("trajectory", "history", "messages")
_STATS = ("instance_cost", "total_cost", "tokens_sent", "tokens_received", "api_calls")
_decode = msgspec.json.Decoder().decode


class Run(NamedTuple):
    """A run: the id of its trace, and all that is recorded."""

    trace_id: str
    fields: Fields

    def records(self, key: str, noun: str, losses: Losses) -> Iterator[tuple[int, Fields]]:
        """Yield (number, fields) of the records of a list.

        Gap codes: ``swe_agent.unreadable_step``, ``swe_agent.unreadable_message``.
        """
        for number, value in enumerate(self.fields.items(key), 1):
            if isinstance(value, dict):
                yield number, Fields(value, f"{noun} {number}", AREA, losses)
            else:
                losses.add(f"{AREA}.unreadable_{noun}", f"{noun} {number} cannot be used")


def read_run(data: bytes, place: str, losses: Losses, ids: FreeIds) -> Run:
    """Decode a run.

    Raises:
        InputError: it is no JSON, or holds neither steps nor messages.
    """
    value = decode_json(data, place, losses)
    if not isinstance(value, dict) or not any(isinstance(value.get(k), list) for k in _LISTS):
        raise InputError(f"{place}: neither a trajectory nor a history")
    fields = Fields(value, "the run", AREA, losses)
    problem = _config(fields, losses).inner("problem_statement")
    file = PurePosixPath(place.partition(": ")[0]).stem.removesuffix(".traj")
    wanted = fields.text("instance_id") or problem.text("id") or file
    return Run(ids.take(wanted), fields)


def facts_of(run: Run, outcome: Outcome, losses: Losses) -> dict[str, object]:
    """Return what is said of a run: how it ended, what it used, with which model.

    Zeros stand for what was not counted: a replay writes them beside the steps that it took.
    """
    info = run.fields.inner("info")
    stats = info.inner("model_stats")
    used = {key: stats.number(key) for key in _STATS}
    model = _config(run.fields, losses).inner("agent").inner("model").text("name")
    known: dict[str, object] = {
        "ended_by": {"exit_status": outcome.recorded} if outcome.recorded is not None else None,
        "environment": run.fields.text("environment"),
        "model": model or info.inner("config").inner("model").text("model_name"),
        "mini_version": info.text("mini_version"),
        "swe_agent_version": info.text("swe_agent_version"),
        **{key: value for key, value in used.items() if value},
    }
    return {key: value for key, value in sorted(known.items()) if value is not None}


def heard(message: Fields) -> dict[str, Any]:
    """Return a message that a model was given, without what is nested too deeply to be kept."""
    return {key: value for key, value in message.values.items() if not is_too_deep(value)}


def rest_of(fields: Fields, bodies: frozenset[str]) -> str | None:
    """Return what is recorded besides the bodies, as JSON text; None where there is nothing."""
    kept = {k: v for k, v in heard(fields).items() if k not in bodies and v not in (None, {}, [])}
    return dump(kept) if kept else None


def _config(fields: Fields, losses: Losses) -> Fields:
    """Return what the run can be replayed with, which some versions write as JSON text."""
    value = fields.values.get("replay_config")
    if not isinstance(value, str):
        return fields.inner("replay_config")
    try:
        decoded = _decode(value)
    except (msgspec.MsgspecError, RecursionError):
        decoded = None
    if not isinstance(decoded, dict):
        fields.refuse("replay_config", "is no object")
        decoded = {}
    return Fields(decoded, "replay_config", AREA, losses)

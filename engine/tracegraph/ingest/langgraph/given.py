"""The state that single steps of a thread ran from, for who asks what was in view at them.

A state is read once more for each of them and never for all: a thread of messages holds the whole
talk in every checkpoint, which nobody wants in memory, or on disk, a thousand times.
"""

from collections.abc import Iterable
from typing import Any

from tracegraph.ingest.attributes import dump
from tracegraph.ingest.langgraph.blob import BlobReader
from tracegraph.ingest.langgraph.history import Checkpoint, Task
from tracegraph.ingest.langgraph.messages import plain_or_none
from tracegraph.ingest.langgraph.tables import Tables
from tracegraph.ingest.langgraph.tasks import PACKETS, packet_parts
from tracegraph.ingest.losses import Losses
from tracegraph.model.draft import Draft

_COUNTERS = "counters_since_delta_snapshot"
"""Metadata of langgraph-checkpoint 4.x."""


def add_states(draft: Draft, tasks: Iterable[Task], wanted: frozenset[str], tables: Tables) -> None:
    """Put into the attributes of the wanted steps the state that their tasks ran from.

    ``checkpoint_id``; ``channel_values``, or ``handed`` for what a packet (``Send``) handed over
    in its place; ``unreadable_channels``: those that are recorded and cannot be shown. What cannot
    be decoded was disclosed when the thread was read.
    """
    if not draft.keep_content:
        return
    blobs = BlobReader(Losses("", strict=False))
    for task in tasks:
        for row in (task.row, *(answer.row for answer in task.record.answers)):
            if draft.steps.step_id[row] in wanted:
                found = task.checkpoint.parent if task.is_update else task.checkpoint
                given = _given(found, task, tables, blobs) if found is not None else None
                draft.steps.attributes[row] = dump(given) if given is not None else None


def _given(
    found: Checkpoint, task: Task, tables: Tables, blobs: BlobReader
) -> dict[str, Any] | None:
    """Return what a task was given; None where the checkpoint is not there or cannot be read."""
    state = tables.checkpoint(found.place, blobs) if found.place >= 0 else None
    values = state.get("channel_values") if isinstance(state, dict) else None
    if not isinstance(state, dict) or not isinstance(values, dict):
        return None
    packets = values.get(PACKETS) or state.get("pending_sends")
    if isinstance(packets, list) and 0 <= task.packet < len(packets):
        argument = packet_parts(packets[task.packet])[1]
        handed = plain_or_none(argument)
        unreadable = [PACKETS] if handed is None and argument is not None else []
        return {"checkpoint_id": found.id, "handed": handed, "unreadable_channels": unreadable}
    shown = {str(channel): plain_or_none(value) for channel, value in values.items()}
    hidden = {str(c) for c, value in values.items() if value is not None and shown[str(c)] is None}
    hidden |= _kept_as_changes(tables.metadata(found.place, blobs)) - shown.keys()
    return {
        "checkpoint_id": found.id,
        "channel_values": {c: value for c, value in shown.items() if c not in hidden},
        "unreadable_channels": sorted(hidden),
    }


def _kept_as_changes(metadata: Any) -> set[str]:
    """Return the channels that a checkpoint keeps as changes since an earlier one (DeltaChannel).

    Only the graph's own code, which is never run here, could make a value of them.
    """
    counters = metadata.get(_COUNTERS) if isinstance(metadata, dict) else None
    return {str(channel) for channel in counters} if isinstance(counters, dict) else set()

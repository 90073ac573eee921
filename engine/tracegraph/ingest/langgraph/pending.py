"""What the last checkpoint of a thread says of its end."""

from tracegraph.ingest.langgraph.causes import makers
from tracegraph.ingest.langgraph.history import Checkpoint, History, Task
from tracegraph.ingest.langgraph.proof import Candidates, read_channel
from tracegraph.ingest.status import ERROR, OK, UNSET, Verdict
from tracegraph.model.codes import UNKNOWN


def newest(history: History) -> Checkpoint | None:
    """Return the newest checkpoint of the outermost graph: ids ascend with time."""
    outermost = [c for c in history.checkpoints if not c.namespace and c.place >= 0]
    return max(outermost, key=lambda found: found.id, default=None)


def is_unfinished(last: Checkpoint, candidates: Candidates) -> bool:
    """Tell whether a checkpoint schedules tasks of which nothing is recorded."""
    if last.tasks:
        return False
    fresh = (channel for channels in candidates.triggered(last).values() for channel in channels)
    return bool(last.packets) or any(_is_complete(last, channel) for channel in fresh)


def _is_complete(found: Checkpoint, channel: str) -> bool:
    """Tell whether a join has all that it waits for; other channels wait for nothing."""
    waited_for = read_channel(channel)[1] if channel.startswith("join:") else ()
    return set(found.barriers.get(channel, ())) >= set(waited_for)


def run_status(last: Checkpoint, unfinished: bool, verdicts: dict[int, Verdict]) -> int:
    """Return the status of a run: that of its last step, whose tasks ran side by side.

    Tasks of the last checkpoint failed, or wait, or were cut off before the next one was made;
    where there are none, those that made it came last. A task that another one called speaks to
    that one, but in the releases that record no paths: there its failure ends the run, whatever
    the one that called it makes of it.

    Args:
        last: the newest checkpoint of the outermost graph.
        unfinished: it schedules tasks of which nothing is recorded.
        verdicts: how each task ended, by its ``id``.
    """
    tasks: list[Task] = last.tasks or makers(last)
    found = [verdicts[id(task)] for task in tasks if not (task.is_called and task.rows_path)]
    if any(verdict.status == ERROR or verdict.source == "subgraph" for verdict in found):
        return ERROR
    if unfinished or last.tasks or any(verdict.status == UNSET for verdict in found):
        return UNSET
    return OK if found else UNKNOWN

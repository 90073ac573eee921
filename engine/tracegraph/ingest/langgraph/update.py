"""As which node somebody wrote to the state from outside (``update_state``), where it is proven."""

from tracegraph.ingest.langgraph.history import Task
from tracegraph.ingest.langgraph.proof import NO_NODES, read_channel


def updated_as(update: Task) -> str | None:
    """Return the node.

    Releases before 1.0 recorded it (``metadata.writes``) and stored what its writers wrote; all
    enter it among the nodes that the checkpoint has seen, where it had not run before.
    """
    made = update.checkpoint
    if made.written_as is not None:
        return made.written_as
    named = {
        writer
        for channel in update.record.channels
        for writer in read_channel(channel)[1]
        if channel.startswith("branch:")
    }
    before = made.parent.seen if made.parent is not None else {}
    named |= made.seen.keys() - before.keys() - NO_NODES
    return named.pop() if len(named) == 1 else None

"""Nodes that other threads of a database name.

Releases without recorded paths name a node only where it has finished once, so one that fails in
its first run is named nowhere in its thread. Threads of one database mostly ran one graph: what
others name is tried too, and it takes an id that comes out equal to believe it.
"""

from tracegraph.ingest.langgraph.blob import BlobReader
from tracegraph.ingest.langgraph.history import Checkpoint
from tracegraph.ingest.langgraph.proof import Candidates
from tracegraph.ingest.langgraph.tables import Tables
from tracegraph.ingest.langgraph.walk import note_versions
from tracegraph.ingest.losses import Losses

_LOOKED_AT = 256
"""Checkpoints that are decoded for it, the newest: threads of one graph name the same nodes."""


def candidates_elsewhere(tables: Tables) -> Candidates:
    """Return what the last checkpoints of a database's threads name, whichever is being read.

    What cannot be decoded there is disclosed by the thread that it belongs to.
    """
    blobs = BlobReader(Losses("", strict=False))
    found: list[Checkpoint] = []
    for row in tables.newest(_LOOKED_AT):
        checkpoint = Checkpoint(row.namespace, row.id, row.place)
        data = tables.checkpoint(row.place, blobs)
        if isinstance(data, dict):
            note_versions(checkpoint, data)
            found.append(checkpoint)
    return Candidates(found)

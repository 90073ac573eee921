"""Traces out of bytes that lie in no file: read as a file would be, and never written anywhere."""

import msgspec
import numpy as np

from tracegraph.corpus.builder import Builder
from tracegraph.corpus.corpus import Corpus
from tracegraph.corpus.manifest import NONE, FileEntry, Manifest
from tracegraph.corpus.policy import Keep, keeps_content
from tracegraph.corpus.publish import number_in_memory
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.reader import read_file
from tracegraph.ingest.registry import adapter_versions
from tracegraph.ingest.source import Source, record_limit
from tracegraph.workflows.gather import Gather


def read_bytes(name: str, data: bytes, keep: Keep = "errors") -> Corpus:
    """Return the traces that some bytes hold.

    Args:
        name: how messages and traces call them.
        data: what a file would hold.
        keep: how much of the content of steps stays in memory.

    Raises:
        InputError: no adapter knows them, or nothing can be read.
    """
    source = Source(name, data, record_limit())
    read = read_file(source, ReadOptions(keep_content=keeps_content(keep)))
    builder = Builder(keep, None)
    gather = Gather(builder)
    found = 0
    for draft in read:
        count = len(draft.traces.trace_id)
        gather.add(draft, np.zeros(count, dtype=np.int64), np.arange(found, found + count))
        found += count
    gather.flush()
    entry = FileEntry(
        id=0,
        name=name,
        root="",
        path="",
        size=NONE,
        mtime_ns=0,
        digest=source.digest,
        adapter=read.adapter.name,
        gaps=dict(sorted(read.gaps.items())),
    )
    nothing = Manifest(keep=keep, adapters=adapter_versions(), record_limit=record_limit())
    manifest = msgspec.structs.replace(nothing, files=(entry,), next_file=1)
    return number_in_memory(manifest, builder.finish())

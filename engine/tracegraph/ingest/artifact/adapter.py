"""Our own portable trace artifact: one trace with everything that is known of it, as JSON.

A file holds one artifact, an array of them, or one a line. Each trace keeps the source, file and
digest that the artifact records. Written by :mod:`tracegraph.export.artifact`.
"""

import re
from collections.abc import Iterator, Sequence

import msgspec

from tracegraph.errors import InputError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.artifact.draft import add_trace
from tracegraph.ingest.artifact.records import (
    KIND,
    SCHEMA_VERSION,
    ArtifactRecord,
    CauseRecord,
    HeaderRecord,
    StepRecord,
    decode,
)
from tracegraph.ingest.documents import read_documents
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.salvage import salvage, salvage_all
from tracegraph.ingest.source import Source
from tracegraph.ingest.tolerant_json import decode_tolerant
from tracegraph.model.draft import Draft

_OPENING = re.compile(rb'[\s\[]*\{\s*"(?:kind|schema_version|trace|steps|causes)"\s*:')
_KIND_VALUE = b'"tracegraph.trace"'
_MARK = re.compile(rb'"kind"\s*:\s*"tracegraph\.trace"')
_MEMBERS = {"kind", "schema_version", "trace", "steps", "causes"}
_AREA = "artifact"


class ArtifactAdapter:
    """Reads portable trace artifacts."""

    name = "artifact"
    version = 1
    unites = False

    def sniff(self, source: Source) -> bool:
        """Tell by the ``kind`` of the first object."""
        head = source.head
        return bool(_OPENING.match(head) and _KIND_VALUE in head and _MARK.search(head))

    def read(self, sources: Sequence[Source], options: ReadOptions) -> Iterator[Draft]:
        """Yield one draft a file.

        Gap codes: ``artifact.unreadable_trace`` (of the file), ``artifact.unreadable_step``,
        ``artifact.unreadable_cause``, ``artifact.unreadable_field``, ``artifact.unknown_field``,
        ``artifact.unknown_word``, ``artifact.duplicate_step``, ``artifact.dangling_cause``.
        """
        for source in sources:
            yield read_documents(source, options, _AREA, _record, _trace_id, add_trace)


def _trace_id(record: ArtifactRecord) -> str:
    return record.trace.trace_id


def _record(data: bytes, place: str, losses: Losses) -> ArtifactRecord:
    """Decode one artifact; where it does not hold its contract, record by record.

    Raises:
        InputError: it is no JSON, no trace artifact, or of a newer schema version.
    """
    try:
        return decode(data)
    except (msgspec.MsgspecError, RecursionError):
        value = decode_tolerant(data, place, losses)
    if not isinstance(value, dict) or value.get("kind") != KIND:
        raise InputError(f'{place}: not a trace artifact (its "kind" is not "{KIND}")')
    version = value.get("schema_version")
    if type(version) is not int or version < 1:
        raise InputError(f"{place}: schema_version must be a whole number from 1")
    if version > SCHEMA_VERSION:
        raise InputError(
            f"{place}: trace artifact of schema version {version}; this tracegraph reads up to "
            f"version {SCHEMA_VERSION}: upgrade tracegraph to read it"
        )
    header = salvage(HeaderRecord, value.get("trace"), "trace", _AREA, losses)
    if header is None:
        raise InputError(f"{place}: the trace artifact has no trace with a trace_id")
    for key in sorted(value.keys() - _MEMBERS):
        losses.add("artifact.unknown_field", f"unknown member {key!r}")
    steps = salvage_all(StepRecord, value.get("steps", []), "step", _AREA, losses)
    causes = salvage_all(CauseRecord, value.get("causes", []), "cause", _AREA, losses)
    return ArtifactRecord(KIND, SCHEMA_VERSION, header, steps, causes)

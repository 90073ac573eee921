"""Artifacts of agent-tracegraph, schema versions 2 to 9, so that its users can bring their traces.

What its adapters substituted is unknown here: a step that lists ``name``, ``kind`` or ``error_msg``
among its unknown fields carries a label guessed for display, and no match may rest on a guess. Its
derived edges (TREE_PARENT, BELONGS_TO) and run status (error if any step is) are derived anew.
"""

import re
from collections.abc import Iterator, Sequence

import msgspec

from tracegraph.errors import InputError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.documents import read_documents
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.peer_artifact.draft import add_trace
from tracegraph.ingest.peer_artifact.records import (
    VERSIONS,
    Body,
    Edge,
    Header,
    PeerArtifact,
    Step,
    decode,
)
from tracegraph.ingest.salvage import salvage, salvage_all
from tracegraph.ingest.source import Source
from tracegraph.ingest.tolerant_json import decode_tolerant
from tracegraph.model.draft import Draft

_BODY = rb'"trace"\s*:\s*\{\s*"(?:edges|steps|trace)"\s*:'
_VERSION_FIRST = re.compile(rb'[\s\[]*\{\s*"schema_version"\s*:\s*\d+\s*,\s*' + _BODY)
_BODY_FIRST = re.compile(rb"[\s\[]*\{\s*" + _BODY)
_VERSION_LAST = re.compile(rb'"schema_version"\s*:\s*\d+\s*\}[\s\]]*\Z')
_AREA = "peer_artifact"


class PeerArtifactAdapter:
    """Reads agent-tracegraph's artifacts; their traces keep the source that it names."""

    name = "peer_artifact"
    version = 1
    unites = False

    def sniff(self, source: Source) -> bool:
        """Tell by ``schema_version`` beside a trace that holds steps and edges."""
        if _VERSION_FIRST.match(source.head):
            return True
        if not _BODY_FIRST.match(source.head):
            return False
        return bool(_VERSION_LAST.search(source.data[max(0, len(source) - 4096) :]))

    def read(self, sources: Sequence[Source], options: ReadOptions) -> Iterator[Draft]:
        """Yield one draft a file.

        Gap codes: those that the artifact records, and ``peer_artifact.unreadable_trace`` (of the
        file), ``peer_artifact.unreadable_step``, ``peer_artifact.unreadable_edge``,
        ``peer_artifact.unreadable_field``, ``peer_artifact.duplicate_step``,
        ``peer_artifact.dangling_cause``.
        """
        for source in sources:
            yield read_documents(source, options, _AREA, _record, _trace_id, add_trace)


def _trace_id(record: PeerArtifact) -> str:
    return record.trace.trace.trace_id


def _record(data: bytes, place: str, losses: Losses) -> PeerArtifact:
    """Decode one artifact; where it does not hold its format, record by record.

    Raises:
        InputError: it is no JSON, no artifact, or of a version that is not read.
    """
    try:
        return decode(data)
    except (msgspec.MsgspecError, RecursionError):
        value = decode_tolerant(data, place, losses)
    body = value.get("trace") if isinstance(value, dict) else None
    if not isinstance(body, dict):
        raise InputError(f"{place}: not an artifact of agent-tracegraph")
    version = value.get("schema_version")
    if type(version) is not int or version not in VERSIONS:
        raise InputError(
            f"{place}: artifact of agent-tracegraph with schema_version {version!r}; versions "
            f"{VERSIONS[0]} to {VERSIONS[-1]} are read"
        )
    header = salvage(Header, body.get("trace"), "trace", _AREA, losses)
    if header is None:
        raise InputError(f"{place}: the artifact has no trace with a trace_id")
    steps = salvage_all(Step, body.get("steps", []), "step", _AREA, losses)
    edges = salvage_all(Edge, body.get("edges", []), "edge", _AREA, losses)
    return PeerArtifact(version, Body(header, steps, edges))

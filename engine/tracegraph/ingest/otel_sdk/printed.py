"""What a program printed -> the JSON documents in it, and all else.

``ConsoleSpanExporter`` writes to the standard output of the program that it is in, so its documents
stand between whatever else the program prints. A document opens and closes at the left margin,
being either one line or broken into lines with all of them but its first and last indented: so what
is torn off (the program was killed) ends where the next one opens.
"""

import re
from collections.abc import Iterator
from itertools import chain, pairwise
from mmap import mmap

from tracegraph.ingest.documents import documents
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.source import Source

_ARRAY = re.compile(rb"\s*\[\s*(?:\{|\])")
_OPENING = re.compile(
    rb'^\{[^\n]*|\{(?=\r?\n[ \t]+"name": "(?:[^"\\\n]|\\.)*+",\r?\n[ \t]+"context": )', re.MULTILINE
)
"""Where a document may open: also behind text that was printed without the end of its line."""
_REMAINS = re.compile(
    rb'"(?:trace_id|span_id|parent_id)"|"SpanKind\.|^[ \t]+"[^"\n]*": ', re.MULTILINE
)
"""Words that only a span has, and lines that only a document broken into lines has."""


def documents_in(source: Source, losses: Losses) -> Iterator[tuple[str, bytes]]:
    """Yield (place for messages, bytes) of each document, undecoded.

    Gap codes: ``otel_sdk.other_output`` for each stretch of text between them that is something
    else, ``otel_sdk.unreadable_record`` where it is what remains of a document.

    Raises:
        RecordLimitError: a document is larger than the limit.
        StrictError: strict, and what remains of a document cannot be read.
    """
    if _ARRAY.match(source.head):
        yield from documents(source, losses)
        return
    data = source.data[source.start :] if source.start else source.data
    at = 0
    for low, high in _bounds(data):
        _disclose(data[at:low], f"byte {source.start + at}", losses)
        place = f"{source.name}: byte {source.start + low}"
        # A source of its own, since the limit is one of records.
        yield place, Source(place, data[low:high], source.limit).document()
        at = high
    _disclose(data[at:], f"byte {source.start + at}", losses)


def _bounds(data: bytes | mmap) -> Iterator[tuple[int, int]]:
    """Yield where each document that may be one of a span begins and ends."""
    openings = ((match.start(), match[0].rstrip()) for match in _OPENING.finditer(data))
    for (low, line), (following, _) in pairwise(chain(openings, [(len(data), b"")])):
        if line == b"{":
            high = data.find(b"\n}", low, following) + 2
        else:
            high = low + len(line) if line.endswith(b"}") else 0
        if high > low and _REMAINS.search(data[low:high]):
            yield low, high


def _disclose(text: bytes, place: str, losses: Losses) -> None:
    if _REMAINS.search(text):
        losses.add("otel_sdk.unreadable_record", f"{place}: what remains of a span")
    elif not text.isspace() and text:
        losses.add("otel_sdk.other_output", f"{place}: no span")

"""What decoding a record gives, whatever it was encoded in."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from msgspec import Raw

from tracegraph.ingest.otlp.asides import Asides
from tracegraph.ingest.otlp.records import ResourceSpans, Span


@dataclass(slots=True)
class Place:
    """Where a record lies: what messages name, and what reads the record again.

    Attributes:
        line: 1-based line, 0 where the record is not one line.
        offset: byte offset of the record.
        end: byte offset behind it.
        is_binary: it is protobuf, and no JSON.
    """

    line: int
    offset: int
    end: int
    is_binary: bool = False

    def __str__(self) -> str:
        return f"line {self.line}" if self.line else f"byte {self.offset}"


@dataclass(slots=True)
class DecodedRecord:
    """The spans of one record and what it cost to read them.

    Attributes:
        place: where the record lies.
        groups: spans by resource.
        repaired: per span, counted over the groups, the gap codes of what was repaired in it.
        lost: spans that cannot be read.
        invalid_at: byte offset of the first byte that is no UTF-8, -1 for none.
        unreadable: why the record cannot be read at all, None where it can.
        asides: what it holds instead of spans, None where that is nothing.
    """

    place: Place
    groups: list[ResourceSpans]
    repaired: dict[int, dict[str, int]] = field(default_factory=dict)
    lost: int = 0
    invalid_at: int = -1
    unreadable: str | None = None
    asides: Asides | None = None

    def spans(self) -> Iterator[tuple[Raw, Span]]:
        """Yield (resource, span) in recorded order."""
        for group in self.groups:
            for scope in group.scopeSpans or group.instrumentationLibrarySpans or ():
                for span in scope.spans or ():
                    yield group.resource, span

"""Gather spans from exports of platforms: JSON documents that hold any number of them each."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, Generic, TypeVar

from tracegraph.errors import InputError, StrictError
from tracegraph.ingest import span_gaps
from tracegraph.ingest.documents import documents
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.spans.reader import SpanReader
from tracegraph.ingest.spans.record import SpanRecord
from tracegraph.ingest.spans.trace import SpanTrace
from tracegraph.ingest.tolerant_json import decode_json
from tracegraph.model.draft import Draft

_Item = TypeVar("_Item")


class ExportReader(SpanReader, Generic[_Item]):
    """Reads documents into items, and all items of a file into records of spans.

    Attributes:
        noun: what the platform calls a span.
    """

    noun: str

    @abstractmethod
    def items(self, value: Any, /) -> Iterator[Any]:
        """Yield what a decoded document holds that may be a span."""

    @abstractmethod
    def item(self, value: Any, shown: str, losses: Losses, /) -> _Item | None:
        """Read one of them; None where it cannot be used."""

    @abstractmethod
    def take(self, items: Sequence[tuple[_Item, Losses]], index: int) -> None:
        """Take the items of a source with what reading each lost, in order."""

    def documents(self, index: int, losses: Losses) -> Iterator[tuple[str, bytes]]:
        """Yield (place for messages, bytes) of each document of a source, undecoded."""
        return documents(self.sources[index], losses)

    def read(self) -> Iterator[Draft]:
        """Read all sources; yield the drafts of what they hold, at least one."""
        for index in range(len(self.sources)):
            self.read_source(index)
        yield from self.finish()

    def read_source(self, index: int) -> None:
        """Read the spans of one source.

        Raises:
            InputError: it holds no span, or nothing of it can be read.
            StrictError: strict, and something was lost.
        """
        source = self.sources[index]
        outside = Losses(source.name, self.options.strict)
        refusal: InputError | None = None
        found: list[tuple[_Item, Losses]] = []
        for place, data in self.documents(index, outside):
            try:
                for value in self.items(decode_json(data, place, outside)):
                    self._note(value, index, found)
            except StrictError:
                raise
            except InputError as error:
                refusal = refusal or error
                what = str(error).removeprefix(source.name).lstrip(": ")
                self.lose(index, span_gaps.UNREADABLE_RECORD, what)
        if not found:
            raise refusal or InputError(f"{source.name}: holds no {self.noun} that can be read")
        self.lose_all(outside.counts)
        self.take(found, index)

    def keep_item(
        self, trace: SpanTrace, record: SpanRecord, index: int, number: int, losses: Losses
    ) -> None:
        """Put a record into its trace.

        Args:
            trace: the trace.
            record: a span of it.
            index: of the source.
            number: which of the source's spans it is, from 1.
            losses: what reading it lost.
        """
        trace.gaps.update(losses.counts)
        self.keep(trace, record, index, number, f"{self.noun} {number}")

    def _note(self, value: Any, index: int, found: list[tuple[_Item, Losses]]) -> None:
        shown = f"{self.noun} {len(found) + 1}"
        losses = Losses(self.sources[index].name, self.options.strict)
        item = self.item(value, shown, losses)
        if item is None:
            self.lose_all(losses.counts)
            self.lose(index, span_gaps.UNREADABLE_SPAN, f"{shown}: cannot be used without its id")
        else:
            found.append((item, losses))

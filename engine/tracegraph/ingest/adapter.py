"""What an adapter is. Adding a source is one file that fits this protocol and one registry line."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tracegraph.ingest.source import Source
from tracegraph.model.draft import Draft

if TYPE_CHECKING:
    from tracegraph.ingest.mapped.field_map import FieldMap


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What the reader is asked for.

    Attributes:
        keep_content: fill the content columns of the draft.
        strict: raise StrictError, naming file and place, at the first loss instead of disclosing.
        only: read only these trace ids (None: all).
        error_channel: the LangGraph state channel that holds an error.
        graph: ``file.py:attr`` or ``package.module:attr`` of a compiled LangGraph graph; reading
            with one runs the code of that module.
        state_of: ids of steps whose attributes are to hold the state that they ran from, where the
            source keeps states (:mod:`tracegraph.ingest.langgraph.given`); with ``keep_content``.
        mapping: read every file as a home-made log, by this mapping, whatever it looks like.
    """

    keep_content: bool = False
    strict: bool = False
    only: frozenset[str] | None = None
    error_channel: str = "error"
    graph: str | None = None
    state_of: frozenset[str] = frozenset()
    mapping: "FieldMap | None" = None


class Adapter(Protocol):
    """Reads one format."""

    @property
    def name(self) -> str:
        """The ``source`` of the traces it reads."""

    @property
    def version(self) -> int:
        """Raised whenever the same bytes would be read differently: caches are keyed by it."""

    @property
    def unites(self) -> bool:
        """Whether ids are random, so that one id in several files is one trace (OTLP family)."""

    def sniff(self, source: Source) -> bool:
        """Tell from the content, never the name, whether this adapter reads the file."""

    def read(self, sources: Sequence[Source], options: ReadOptions) -> Iterator[Draft]:
        """Read the traces of the sources; several sources are given only to unite their traces.

        A draft may hold any number of traces; a trace is whole in one draft. One bad record costs
        that record and a gap (in its trace, or in ``file_gaps``), never the file.

        Raises:
            InputError: nothing can be read, or a record is over the limit.
            StrictError: strict and something was lost.
        """

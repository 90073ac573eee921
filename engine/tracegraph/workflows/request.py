"""What is to be read, and who hears how far reading has come."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tracegraph.corpus.policy import Keep
from tracegraph.ingest.discover import Discovery

if TYPE_CHECKING:
    from tracegraph.ingest.adapter import ReadOptions


class Progress(Protocol):
    """Hears how far reading has come."""

    def start(self, total_bytes: int) -> None:
        """Reading begins; so much is to be read."""

    def advance(self, read_bytes: int) -> None:
        """So much more has been read."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be read and how.

    Attributes:
        found: the files.
        keep: content policy.
        strict: refuse losses.
        progress: hears how far reading has come.
        on_purpose: the corpus gathers the files of several calls and carries the Parquet record;
            else it mirrors the paths.
        options: what else the reader is asked for; None for the usual reading.
    """

    found: Discovery
    keep: Keep
    strict: bool
    progress: Progress | None
    on_purpose: bool = False
    options: "ReadOptions | None" = None

    @property
    def mapping(self) -> str:
        """The digest of the mapping that files are to be read by; empty for none."""
        mapping = self.options.mapping if self.options else None
        return mapping.digest if mapping else ""

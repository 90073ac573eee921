"""What stands above a line of a session: carried down from line to line, so no line is read twice.

A fork is no special case: both branches have the same above them.
"""

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from tracegraph.ingest.claude_code.answers import Answer
from tracegraph.ingest.transcript.transcript import Transcript


class Given(Struct, frozen=True, eq=False):
    """A result on the way from an answer to the next, and those before it."""

    call_id: str | None
    row: int
    before: "Given | None"


class Above(Struct, frozen=True, eq=False):
    """What stands above a line.

    Attributes:
        talk: the conversation that the line is in.
        answer: the last one of a model, None where there is none.
        results: that came since.
        said: rows of the steps that the next answer replies to beside those results: requests that
            failed since, and what stands behind a compaction, of which a summary is told only.
        is_declared: each line since the answer names the one that it answers.
        is_torn: no answer is above it here, but one was.
    """

    talk: Transcript
    answer: Answer | None = None
    results: Given | None = None
    said: tuple[int, ...] = ()
    is_declared: bool = True
    is_torn: bool = False

    @property
    def is_beginning(self) -> bool:
        """Nothing was said before."""
        return self.answer is None and not self.said

    def reads(self) -> list[int]:
        """Return the rows of the results that the next answer is given.

        Parallel calls come back in lines of their own, of which one is answered: the results that
        are not on the way are given, too. Of a call that was answered anew on another branch, the
        one on the way is.
        """
        on_the_way = list(self._each_given())
        ids = {call_id for call_id, _ in on_the_way}
        beside = self.answer.results if self.answer is not None else ()
        found = {row for call_id, row in beside if call_id not in ids}
        return sorted(found.union(row for _, row in on_the_way))

    def replies(self, reads: list[int], *, was_asked: bool) -> list[int]:
        """Return the rows of the steps that the next answer replies to, beside those it reads.

        Args:
            reads: what :meth:`reads` returned.
            was_asked: a model was, so that it was given the results.
        """
        rows = [*self.said, *(() if was_asked else reads)]
        if not rows and not reads and self.answer is not None:
            rows = [self.answer.row]
        return rows if self.is_declared else []

    def under(self, answer: Answer) -> "Above":
        """Return what stands above the lines that answer an answer."""
        if answer.has_failed or answer.is_of_client:
            return replace(self, said=(answer.row,), is_torn=False)
        return Above(self.talk, answer)

    def given(self, call_id: str | None, row: int) -> "Above":
        """Return what stands above the lines that answer a result."""
        return replace(self, results=Given(call_id, row, self.results))

    def summarised(self) -> "Above":
        """Return what stands above a line behind which all that was said is a summary."""
        reads = self.reads()
        said = tuple(self.replies(reads, was_asked=False))
        return Above(self.talk, said=said, is_torn=self.is_torn)

    def _each_given(self) -> Iterator[tuple[str | None, int]]:
        at = self.results
        while at is not None:
            yield at.call_id, at.row
            at = at.before

"""What the next model step of an agent-lattice run reads, and so what causes it."""

from dataclasses import dataclass

from msgspec import Raw

from tracegraph.ingest.agent_lattice.content import read_history
from tracegraph.ingest.agent_lattice.steps import Steps
from tracegraph.ingest.agent_lattice.tools import Tools, Use


@dataclass(slots=True)
class Prompt:
    """A PROMPT step; the text is unknown where it is redacted or more than text."""

    row: int
    line: int
    text: str | None


class Context:
    """The context rows of a run that no model step has read yet.

    Attributes:
        inferred: model steps of which the batch is not recorded: that they read the results of the
            turn before them is a rule of the format.
    """

    def __init__(self, steps: Steps, tools: Tools) -> None:
        self.inferred: set[int] = set()
        self._steps = steps
        self._tools = tools
        self._prompts: list[Prompt] = []
        self._batch: list[str] | None = None
        self._is_inferred = False
        self._compaction = -1
        self._overflowed = -1
        self._before: tuple[list[Prompt], list[str]] = ([], [])
        self._last = -1
        self._last_read: tuple[list[Prompt], list[str]] = ([], [])

    def add_prompt(self, prompt: Prompt) -> None:
        """Take a user's message."""
        self._prompts.append(prompt)

    def add_batch(self, ids: list[str], *, inferred: bool = False) -> None:
        """Take the results of a turn, by call id."""
        self._batch = (self._batch or []) + ids
        self._is_inferred |= inferred

    def awaits_batch(self) -> bool:
        """Tell whether tools have returned whose results were not handed over yet."""
        return self._batch is None and any(use.end >= 0 for use in self._tools.turn)

    def compact(self, row: int, overflowed: int | None) -> None:
        """Take a compaction: it is what the next model step reads instead of what came before.

        Of a request that overflowed it is the declared consequence; else it follows, by the rules
        of the format, from the context that it found.
        """
        prompts, reads = self._unread()
        if overflowed is not None:
            self._steps.link(row, overflowed, "edge")
            self._overflowed = overflowed
            prompts, reads = self._last_read
        else:
            for cause in self.last_rows():
                self._steps.link(row, cause, "protocol")
        self._before = (self._before[0] + prompts, self._before[1] + reads)
        self._prompts, self._batch = [], []
        self._compaction = row

    def give(self, row: int, messages: Raw, unread: list[Use]) -> list[str]:
        """Link a new model step to what it reads. Return the call ids of the results in it.

        Args:
            row: the model step.
            messages: the history of its request; asked only where rows do not tell what is in it.
            unread: tool calls of the run before it of the same agent, whose batch nobody read.
        """
        if self._batch is None and self._tools.turn:
            self._is_inferred = True  # the batch was held back
        prompts, reads = self._unread()
        if self._compaction >= 0 or unread:
            self._read_history(row, messages, unread, prompts, reads)
        for prompt in prompts:
            self._steps.link(row, prompt.row, "edge")
        if self._compaction >= 0:
            self._steps.link(row, self._compaction, "edge")
        if self._overflowed >= 0:  # tried again
            self._steps.link(row, self._overflowed, "protocol")
        elif self._last >= 0 and not (prompts or reads or self._compaction >= 0):
            self._steps.link(row, self._last, "protocol")  # it went on from its own answer
        if self._is_inferred:
            self.inferred.add(row)
        self._last, self._last_read = row, (prompts, reads)
        self._prompts, self._batch, self._is_inferred = [], None, False
        self._compaction = self._overflowed = -1
        self._before = ([], [])
        return reads

    def _unread(self) -> tuple[list[Prompt], list[str]]:
        batch = self._tools.returned() if self._batch is None else self._batch
        return list(self._prompts), list(batch)

    def last_rows(self) -> list[int]:
        """Return the steps of the last rows: what the next step follows from."""
        rows = [prompt.row for prompt in self._prompts]
        if self._compaction >= 0:
            return [*rows, self._compaction]
        rows += [use.row for use in self._tools.turn]
        return rows or ([self._last] if self._last >= 0 else [])

    def _read_history(
        self,
        row: int,
        messages: Raw,
        unread: list[Use],
        prompts: list[Prompt],
        reads: list[str],
    ) -> None:
        """Add what only the history shows: what a compaction kept, results of the run before."""
        history = read_history(messages)
        if history is None:
            return
        prompts += [prompt for prompt in self._before[0] if prompt.text in history.said]
        known = set(reads)
        reads += [i for i in self._before[1] if i in history.results and i not in known]
        for use in unread:
            if use.call_id in history.results:
                self._steps.link(row, use.row, "tool_call_id")

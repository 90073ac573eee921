"""Write the steps of one agent-lattice run into a draft."""

from typing import Any

from msgspec import Struct

from tracegraph.ingest.agent_lattice.outcome import Outcome
from tracegraph.ingest.agent_lattice.records import mapping
from tracegraph.ingest.attributes import total_of, whole_number
from tracegraph.ingest.losses import Losses
from tracegraph.model.codes import UNKNOWN
from tracegraph.model.draft import Draft, DraftSteps


class Place(Struct, gc=False, frozen=True):
    """Where a row stands: its line, counted from 1, and its time, -1 unknown."""

    line: int
    time: int


class Steps:
    """The steps of one run: all lie in its AGENT step.

    Attributes:
        run: row of the AGENT step.
        columns: of the draft.
        keep_content: fill the content columns.
        agent: who acts.
    """

    def __init__(self, draft: Draft, run: int, losses: Losses) -> None:
        self.columns: DraftSteps = draft.steps
        self.keep_content = draft.keep_content
        self.agent: str | None = None
        self._draft = draft
        self.run = run
        self._losses = losses

    def add(
        self,
        step_id: str,
        kind: int,
        name: str | None = None,
        *,
        start: int = UNKNOWN,
        end: int = UNKNOWN,
        tool_call_id: str | None = None,
    ) -> int:
        """Append a step and return its row."""
        row = self._draft.step(
            step_id,
            kind=kind,
            name=name,
            agent=self.agent,
            start=start,
            end=end,
            tool_call_id=tool_call_id,
        )
        self.link(row, self.run, "span_parent")
        return row

    def link(self, effect: int, cause: int, origin: str, evidence: int | None = None) -> None:
        """Record a cause."""
        self._draft.link(effect, cause, origin, evidence)

    def conclude(self, row: int, outcome: Outcome, at: Place) -> None:
        """Write how a step ended.

        Gap code: ``agent_lattice.status_contradicts_error``.
        """
        columns = self.columns
        columns.status[row] = outcome.status
        columns.status_source[row] = outcome.source
        columns.error_type[row] = outcome.error_type
        columns.error_message[row] = outcome.error_message
        columns.signals[row] |= outcome.signals
        if outcome.contradiction:
            self.disclose(
                "agent_lattice.status_contradicts_error", at, "status and error do not agree"
            )

    def check_error(self, error: Any, at: Place) -> None:
        """Disclose a serialised error that is none.

        Gap code: ``agent_lattice.unreadable_field``.
        """
        parts = (
            [error] if not isinstance(error, dict) else [error.get("name"), error.get("message")]
        )
        if any(part is not None and not isinstance(part, str) for part in parts):
            self.disclose("agent_lattice.unreadable_field", at, "an error is no error")

    def count_tokens(self, row: int, usage: Any, at: Place) -> None:
        """Write the tokens of a model step or of a run.

        Gap code: ``agent_lattice.unreadable_field``.
        """
        known = mapping(usage)
        if known is not usage and usage is not None:
            self.disclose("agent_lattice.unreadable_field", at, "usage is no object")
        found: list[int] = []
        for key in ("input_tokens", "output_tokens"):
            count = whole_number(known.get(key))
            if count is None and known.get(key) is not None:
                self.disclose("agent_lattice.unreadable_field", at, f"{key} is no count")
            found.append(UNKNOWN if count is None else count)
        columns = self.columns
        columns.tokens_prompt[row], columns.tokens_completion[row] = found
        columns.tokens_total[row] = total_of(found)

    def disclose(self, code: str, at: Place, what: str) -> None:
        """Count a gap."""
        self._losses.add(code, f"line {at.line}: {what}")

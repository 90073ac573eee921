"""Turns, one after the other, to steps and causes in a draft.

A model step causes the tool steps that it asked for; a tool step causes the next model step, which
is given its result. What people and systems say is no step. Order alone is no cause: between two
model steps with nothing asked for and nothing returned, none is recorded.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tracegraph.ingest.attributes import dump
from tracegraph.ingest.tool_payload import size_of
from tracegraph.ingest.transcript.turns import Asked, ModelTurn, ToolTurn, Turn
from tracegraph.model.codes import DERIVED, KIND_CODE, SIGNAL_BIT, UNKNOWN
from tracegraph.model.draft import Draft

_LLM, _TOOL = KIND_CODE["LLM"], KIND_CODE["TOOL"]


class Transcript:
    """The steps of one conversation, appended to the open trace of a draft as its turns come.

    A trace may hold several conversations, each with a transcript of its own.

    Args:
        draft: where to.
    """

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._open: dict[str | None, tuple[int, list[Asked]]] = {}
        """Requests that wait for an answer, by call id: row of the model step that was the last to
        use the id, and what it asked for with it; models give one id to two calls, too."""
        self._unread: list[int] = []
        """Rows of the tool steps that no model step has read."""
        self._askers: dict[int, int] = {}
        self._heard: list[Any] = []

    @property
    def is_open(self) -> bool:
        """Whether a call waits for its answer."""
        return bool(self._open)

    def hear(self, message: Any) -> None:
        """Note what people or systems say: the next model step is given it."""
        if self._draft.keep_content:
            self._heard.append(message)

    def add_model(self, turn: ModelTurn, reads: Iterable[int] | None = None) -> int:
        """Append what a model said; return the row of its step.

        Args:
            turn: what it said.
            reads: rows of the tool steps whose results it was the first to be given, where the
                format tells; None for all since the model step before.
        """
        draft = self._draft
        row = draft.step(
            turn.step_id,
            kind=_LLM,
            model=turn.model,
            tokens_prompt=turn.tokens_prompt,
            tokens_completion=turn.tokens_completion,
            tokens_total=turn.tokens_total,
            input=dump(self._heard) if self._heard else None,
            **_common(turn),
        )
        self._heard.clear()
        if reads is None:
            reads, self._unread = self._unread, []
        for result in reads:
            draft.link(row, result, _origin(draft.steps.tool_call_id[result]), DERIVED)
        for call in turn.calls:
            self._ask(row, call)
        return row

    def add_tool(self, turn: ToolTurn) -> tuple[int, bool]:
        """Append what a tool gave back; return the row of its step, and whether it was asked for.

        An answer is for the latest request of its id, of several with one id for the first that
        names its tool; without an id, for the first open request of its tool that has none either,
        and where one of the two names no tool, for the only open one.
        """
        asker, found = self._take(turn.call_id, turn.name)
        call = found.call if found is not None else None
        given = found.given if found is not None else None
        fields = _common(turn)
        fields["name"] = turn.name or (call.name if call is not None else None)
        row = self._draft.step(
            turn.step_id,
            kind=_TOOL,
            tool_call_id=turn.call_id,
            args=call.args if call is not None else None,
            args_size=UNKNOWN if given is None else size_of(given),
            orphan=found is None,
            input=given,
            **fields,
        )
        if found is not None:
            self._draft.link(row, asker, _origin(turn.call_id))
        self._unread.append(row)
        self._askers[row] = asker
        return row, found is not None

    def asker_of(self, row: int) -> int:
        """Return the row of the model step that asked for a tool step, -1 where none did."""
        return self._askers[row]

    def waiting(self) -> Iterator[tuple[int, Asked]]:
        """Yield (row of the model step, what it asked for) of each call without an answer."""
        for asker, calls in self._open.values():
            for call in calls:
                yield asker, call

    def end(self) -> None:
        """End the conversation: what was asked for and not answered never will be."""
        for asker, _ in self._open.values():
            self._mark_unanswered(asker)

    def _ask(self, row: int, call: Asked) -> None:
        asker, calls = self._open.get(call.call.id, (row, []))
        if asker != row:  # ids repeat: the latest request is meant
            self._mark_unanswered(asker)
            calls = []
        calls.append(call)
        self._open[call.call.id] = (row, calls)

    def _take(self, call_id: str | None, name: str | None) -> tuple[int, Asked | None]:
        asker, calls = self._open.get(call_id, (UNKNOWN, []))
        at = next((i for i, each in enumerate(calls) if each.call.name == name), None)
        if at is None:
            at = _only_fitting(calls, name) if call_id is None else 0
        if at is None or not calls:
            return UNKNOWN, None
        found = calls.pop(at)
        if not calls:
            del self._open[call_id]
        return asker, found

    def _mark_unanswered(self, row: int) -> None:
        self._draft.steps.signals[row] |= SIGNAL_BIT["unanswered_call"]


def _only_fitting(calls: Sequence[Asked], name: str | None) -> int | None:
    """Return the index of the only request, if it names no other tool than its answer does."""
    is_it = len(calls) == 1 and (name is None or calls[0].call.name is None)
    return 0 if is_it else None


def _origin(call_id: str | None) -> str:
    """Return how a tool step is paired with who asked for it, and so with who reads its result."""
    return "protocol" if call_id is None else "tool_call_id"


def _common(turn: Turn) -> dict[str, Any]:
    return {
        "name": turn.name,
        "status": turn.status,
        "status_source": turn.status_source,
        "agent": turn.agent,
        "start": turn.start,
        "end": turn.end,
        "duration": turn.duration,
        "error_type": turn.error_type,
        "error_message": turn.error_message,
        "cost": turn.cost,
        "signals": turn.signals,
        "result": turn.result,
        "result_size": turn.result_size,
        "output": turn.text,
        "attributes": turn.attributes,
    }

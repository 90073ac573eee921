"""From the messages of a run to a trace in a draft.

The messages have no ids and no times: a step is named by its place in the history, counted from 0
as the labels count, and of most messages order is the only relation. Three follow from the rules of
the frameworks, and are the causes that are kept: an executor reports on the code that it was given
last; who speaks next was given what the executor said; and in Magentic-One the message ``A (-> B)``
asks B, whose next message is the reply, which A is given before it goes on.
"""

from itertools import zip_longest

from tracegraph.ingest.losses import Losses
from tracegraph.ingest.source import Source
from tracegraph.ingest.transcript.content import content_digest
from tracegraph.ingest.transcript.transcript import Transcript
from tracegraph.ingest.transcript.turns import ModelTurn, ToolTurn, asked
from tracegraph.ingest.whowhen.code import is_runnable
from tracegraph.ingest.whowhen.messages import Said, read_messages
from tracegraph.ingest.whowhen.records import AREA, Log, facts_of
from tracegraph.model.codes import FIDELITY_CODE, KIND_CODE, SIGNAL_BIT, STATUS_CODE
from tracegraph.model.draft import Draft

_OK, _ERROR = STATUS_CODE["ok"], STATUS_CODE["error"]
_EXIT_CODE = "exit_code"
"""Status source of code that was run: the executor reports how its process ended."""


def add_log(draft: Draft, trace_id: str, log: Log, source: Source, losses: Losses) -> None:
    """Append the trace of a run to a draft.

    Gap codes: ``whowhen.unreadable_message``, ``whowhen.unreadable_field``,
    ``whowhen.result_without_call``.
    """
    draft.begin(
        trace_id,
        source=AREA,
        file=source.name,
        file_digest=source.digest,
        fidelity=FIDELITY_CODE["order_only"],
        contained=False,
        attributes=facts_of(log, losses),
    )
    messages = list(read_messages(log.history, losses))
    chat = _Chat(draft, losses, has_executor=any(said.is_of_executor for said in messages))
    for said, following in zip_longest(messages, messages[1:]):
        chat.add(said, following)
    chat.end()
    draft.traces.gaps[-1].update(losses.counts)


class _Chat:
    """A group chat: its messages in order, and who was asked and has not replied."""

    def __init__(self, draft: Draft, losses: Losses, *, has_executor: bool) -> None:
        self._draft = draft
        self._losses = losses
        self._has_executor = has_executor
        self._transcript = Transcript(draft)
        self._asked: tuple[Said, int] | None = None
        """The last ``A (-> B)`` without a reply, and its row."""
        self._replies: list[tuple[str | None, int]] = []
        """Who is given something besides results of code when they go on, None for whoever speaks
        next, and the row of it."""

    def add(self, said: Said, following: Said | None) -> None:
        """Add a message, knowing the one that follows it."""
        if said.is_of_people:
            self._transcript.hear({"role": said.author, "content": said.content})
        elif not said.is_of_executor:
            self._add_model(said, following)
        elif said.exit_code is not None:
            self._replied(said, self._add_report(said, said.exit_code))
        else:
            self._replied(said, self._add_remark(said))

    def end(self) -> None:
        """End the chat: nobody replies any more."""
        self._transcript.end()
        self._mark_unanswered()

    def _add_model(self, said: Said, following: Said | None) -> None:
        result, size = content_digest(said.content)
        turn = ModelTurn(
            step_id=str(said.place),
            name=said.author,
            agent=said.agent,
            result=result,
            result_size=size,
            text=said.text,
            calls=[asked(None, None, said.blocks)] if self._hands_over(said, following) else [],
        )
        row = self._transcript.add_model(turn)
        waiting: list[tuple[str | None, int]] = []
        for reader, reply in self._replies:
            if reader in (None, said.agent):
                self._draft.link(row, reply, "protocol")
            else:
                waiting.append((reader, reply))
        self._replies = waiting
        asker = self._replied(said, row)
        if asker is not None:
            self._replies.append((asker, row))
        if said.asks is not None:
            self._mark_unanswered()
            self._asked = said, row

    def _hands_over(self, said: Said, following: Said | None) -> bool:
        """Tell whether code in a message is for the executor, rather than quoted.

        What was run was handed over, in whatever language; else a block has to be in one that can
        be run, in a chat with an executor, and nobody's note to itself.
        """
        if following is not None and following.exit_code is not None:
            return bool(said.blocks)
        return self._has_executor and not said.is_aside and any(map(is_runnable, said.blocks))

    def _add_report(self, said: Said, exit_code: int) -> int:
        """Append code that was run: what was handed over, and how it ended.

        Gap code: ``whowhen.result_without_call``.
        """
        result, size = content_digest(said.content)
        turn = ToolTurn(
            step_id=str(said.place),
            name=said.author,
            agent=said.agent,
            status=_ERROR if exit_code else _OK,
            status_source=_EXIT_CODE,
            error_message=said.text if exit_code else None,
            result=result,
            result_size=size,
            text=said.text,
        )
        row, was_asked = self._transcript.add_tool(turn)
        if not was_asked:
            what = f"message {said.place}: there is no code that it reports on"
            self._losses.add("whowhen.result_without_call", what)
        return row

    def _add_remark(self, said: Said) -> int:
        """Append what an executor said without running anything: nobody's call, of no outcome."""
        result, size = content_digest(said.content)
        row = self._draft.step(
            str(said.place),
            kind=KIND_CODE["TOOL"],
            name=said.author,
            agent=said.agent,
            result=result,
            result_size=size,
            output=said.text,
        )
        self._replies.append((None, row))
        return row

    def _replied(self, said: Said, row: int) -> str | None:
        """Link a message to the one that asked its author for it; return the agent that did."""
        if self._asked is None or self._asked[0].asks != said.agent:
            return None
        asking, asked_in = self._asked
        self._draft.link(row, asked_in, "protocol")
        self._asked = None
        return asking.agent

    def _mark_unanswered(self) -> None:
        if self._asked is not None:
            self._draft.steps.signals[self._asked[1]] |= SIGNAL_BIT["unanswered_call"]
            self._asked = None

"""The lines of one session -> steps and causes in a draft.

A model step's end is when its last line was written, a tool step's when its result was; when they
began is not recorded. What a model step was given follows from the lines above it: the results of
the calls that the model step before it asked for, and else that step's answer itself. A request
that failed was given them, and so was the one that went on after it.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from tracegraph.ingest.attributes import dump
from tracegraph.ingest.claude_code.above import Above
from tracegraph.ingest.claude_code.answers import Answer, answers_of
from tracegraph.ingest.claude_code.entries import AREA, MODEL, USER, Entry
from tracegraph.ingest.claude_code.thread import Thread
from tracegraph.ingest.free_ids import FreeIds
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.nesting import is_too_deep
from tracegraph.ingest.transcript.content import content_digest, content_text
from tracegraph.ingest.transcript.fields import Fields
from tracegraph.ingest.transcript.transcript import Transcript
from tracegraph.ingest.transcript.turns import Asked, ModelTurn, ToolTurn, asked
from tracegraph.model.codes import SIGNAL_BIT, STATUS_CODE, UNKNOWN
from tracegraph.model.draft import Draft

_UNSET, _OK, _ERROR = STATUS_CODE["unset"], STATUS_CODE["ok"], STATUS_CODE["error"]
_STOPPED = frozenset({"cancelled", "user-rejected"})
"""Kinds of denial by which a person stopped a call: it did not fail, it never ran or to no end."""
_ERROR_WORD = re.compile(r"[a-z_]{1,60}")


class Session:
    """One session on its way into the open trace of a draft.

    Args:
        draft: where to.
        entries: its lines in recorded order.
        losses: where losses are disclosed.
    """

    def __init__(self, draft: Draft, entries: Sequence[Entry], losses: Losses) -> None:
        self._draft = draft
        self._losses = losses
        self._thread = Thread(entries, losses)
        self._ids = FreeIds()
        self._answers = dict(answers_of(self._thread.entries))
        self._by_row: dict[int, Answer] = {}
        self._below: dict[int, Above] = {}
        """By the number of a line, what stands above the lines that answer it."""
        self._talks: list[Transcript] = []
        """Of the session itself and of its sub-agents: all lines below one that answers none."""
        self._asked_in: dict[str | None, Transcript] = {}
        self._started_by: dict[str, int] = {}
        self._firsts: dict[str, int] = {}

    def add(self) -> None:
        """Append the steps.

        Gap codes: ``claude_code.unreadable_field``, ``claude_code.unreadable_block``,
        ``claude_code.result_without_call``, ``claude_code.missing_parent``,
        ``claude_code.partial_usage``.
        """
        last: dict[bool, Answer] = {}
        for entry in self._thread.entries:
            above = self._above(entry)
            if entry.role == MODEL:
                answer = self._answers[entry.number]
                if answer.row == UNKNOWN:
                    self._add_model(answer, above)
                    last[entry.is_aside] = answer
                above = above.under(answer)
            elif entry.role == USER:
                above = self._add_results(entry, above)
            self._below[entry.number] = above
        for talk in self._talks:
            talk.end()
        for agent, row in self._firsts.items():
            if agent in self._started_by:
                self._draft.link(row, self._started_by[agent], "edge")
        final = last.get(False, last.get(True))  # a sub-agent's own file is all aside
        if final is not None:
            self._finish(final)

    def _finish(self, final: Answer) -> None:
        """Say how the session ended: one that waits for a tool is not known to be ok."""
        signals = self._draft.steps.signals
        if final.has_ended:
            signals[final.row] |= SIGNAL_BIT["final_answer"]
        if signals[final.row] & SIGNAL_BIT["unanswered_call"]:
            self._draft.traces.status[-1] = _UNSET

    def _above(self, entry: Entry) -> Above:
        answered = self._thread.answered(entry)
        above = None if answered is None else self._below.get(answered.number)
        if above is None:
            talk = Transcript(self._draft)
            self._talks.append(talk)
            return Above(talk, is_torn=self._thread.is_torn(entry))
        if not entry.is_linked:
            return above if not above.is_declared else replace(above, is_declared=False)
        return above.summarised() if entry.is_summarised else above

    def _add_model(self, answer: Answer, above: Above) -> None:
        first = answer.entries[0]
        calls = [call for entry in answer.entries for call in self._calls(entry)]
        reads = above.reads()
        was_asked = answer.has_failed or not answer.is_of_client
        answer.row = above.talk.add_model(self._turn(answer, calls), reads if was_asked else ())
        self._by_row[answer.row] = answer
        for call in calls:
            self._asked_in[call.call.id] = above.talk
        if above.is_torn:
            self._draft.steps.orphan[answer.row] = True
            what = f"entry {first.number}: the line that it answers is not here"
            self._losses.add("claude_code.missing_parent", what)
        for row in above.replies(reads, was_asked=was_asked):
            self._draft.link(answer.row, row, "message")
        if above.is_beginning and first.agent is not None:
            self._firsts.setdefault(first.agent, answer.row)

    def _turn(self, answer: Answer, calls: list[Asked]) -> ModelTurn:
        first, final = answer.entries[0], answer.final
        text = answer.text()
        usage = answer.usage()
        if usage.is_partial:
            what = f"entry {final.number}: tokens of an answer that was still being written"
            self._losses.add("claude_code.partial_usage", what)
        status, source = _status(answer)
        word = final.fields.text("error") if answer.has_failed else None
        return ModelTurn(
            step_id=self._ids.take(first.message_id or first.id or f"entry-{first.number}"),
            agent=final.agent,
            status=status,
            status_source=source,
            error_type=word if word is not None and _ERROR_WORD.fullmatch(word) else None,
            error_message=text if answer.has_failed else None,
            model=answer.model,
            tokens_prompt=usage.prompt,
            tokens_completion=usage.completion,
            tokens_total=usage.total,
            cost=answer.cost(),
            end=max(entry.time for entry in answer.entries),
            duration=answer.duration(),
            signals=SIGNAL_BIT["truncated"] if answer.is_cut else 0,
            text=text,
            attributes=_rest(self._draft, first.values),
            calls=calls,
        )

    def _calls(self, entry: Entry) -> Iterator[Asked]:
        for block in self._blocks(entry):
            if block.values.get("type") == "tool_use":
                yield asked(block.id("id"), block.text("name"), block.content("input"))

    def _add_results(self, entry: Entry, above: Above) -> Above:
        """Append the results that a line holds; return what stands above the lines below it."""
        results: list[Fields] = []
        words: list[Any] = []
        for block in self._blocks(entry):
            if block.values.get("type") == "tool_result":
                results.append(block)
            else:
                words.append(block.values)
        message = {**entry.message.values, "content": words} if results else entry.message.values
        if (words or not results) and not is_too_deep(message):
            above.talk.hear(message)
        is_only = len(results) == 1  # what a line says of its result is of the one that it holds
        is_stopped = is_only and entry.fields.text("toolDenialKind") in _STOPPED
        for block in results:
            call_id = block.id("tool_use_id")
            row = self._add_result(entry, block, call_id, above, is_stopped=is_stopped)
            above = above.given(call_id, row)
            agent = _agent_of(entry) if is_only else None
            if agent is not None:
                self._started_by.setdefault(agent, row)
        return above

    def _add_result(
        self, entry: Entry, block: Fields, call_id: str | None, above: Above, *, is_stopped: bool
    ) -> int:
        content = block.content("content")
        status, source = _outcome(block)
        if is_stopped and status == _ERROR:
            status, source = _UNSET, "control_flow"
        digest, size = content_digest(content)
        text = content_text(content)
        turn = ToolTurn(
            step_id=self._ids.take(call_id or entry.id or f"entry-{entry.number}"),
            call_id=call_id,
            agent=entry.agent,
            status=status,
            status_source=source,
            error_message=text if status == _ERROR else None,
            end=entry.time,
            result=digest,
            result_size=size,
            text=text,
        )
        talk = above.talk
        if above.is_beginning:  # nothing above it asked for anything: the id alone tells who did
            talk = self._asked_in.get(call_id, talk)
        row, is_asked_for = talk.add_tool(turn)
        if is_asked_for:
            self._by_row[talk.asker_of(row)].results.append((call_id, row))
        else:
            what = f"entry {entry.number}: nobody asked for call {call_id or '(without an id)'}"
            self._losses.add("claude_code.result_without_call", what)
        return row

    def _blocks(self, entry: Entry) -> Iterator[Fields]:
        for number, block in enumerate(entry.blocks, 1):
            place = f"entry {entry.number}: block {number}"
            if isinstance(block, dict) and isinstance(block.get("type"), str):
                yield Fields(block, place, AREA, self._losses)
            else:
                self._losses.add("claude_code.unreadable_block", f"{place} cannot be used")


def _status(answer: Answer) -> tuple[int, str | None]:
    """Return the status and what it is known by; that a model's answer is there proves it."""
    if answer.has_failed:
        return _ERROR, "recorded"
    is_known = not (answer.is_of_client or answer.may_have_failed)
    return (_OK, "default") if is_known else (_UNSET, None)


def _agent_of(entry: Entry) -> str | None:
    """Return the id of the sub-agent that a call started, None where it started none."""
    result = entry.fields.values.get("toolUseResult")
    agent = result.get("agentId") if isinstance(result, dict) else None
    return agent if isinstance(agent, str) else None


def _outcome(result: Fields) -> tuple[int, str | None]:
    """Return the status of a call and what it is known by.

    Anthropic's ``tool_result`` is a success unless ``is_error`` says otherwise (Messages API).
    """
    if result.values.get("is_error") is None:
        return _OK, "default"
    failed = result.flag("is_error")
    if failed is None:
        return _UNSET, None
    return (_ERROR if failed else _OK), "recorded"


def _rest(draft: Draft, values: dict[str, Any]) -> str | None:
    """Return what a line records besides its message, where content is kept."""
    if not draft.keep_content:
        return None
    rest = {k: v for k, v in values.items() if k != "message" and not is_too_deep(v)}
    return dump({key: value for key, value in rest.items() if value not in (None, {}, [])})

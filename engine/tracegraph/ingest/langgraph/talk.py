"""What is asked, answered and read along the history of a thread.

The state that a task was handed is recorded, so the rules of DESIGN section 3 need no clock here: a
call belongs to the task that asked for it on the way to the checkpoint, a result is read by the
first model step of the same list of messages whose state holds it. On a fork each branch starts
from what was known where they part; the tasks of one step do not hear each other.
"""

from collections.abc import Iterable
from typing import Any

from tracegraph.ingest.langgraph.handed import State
from tracegraph.ingest.langgraph.history import Task
from tracegraph.ingest.langgraph.known import Known
from tracegraph.ingest.langgraph.messages import (
    MODEL,
    TOOL,
    Asked,
    Message,
    as_text,
    asked_by,
    is_of_a_model,
    messages_in,
    result_of,
    usage_of,
)
from tracegraph.ingest.langgraph.tasks import Answer, Record, Request
from tracegraph.ingest.requests import Call
from tracegraph.ingest.tool_payload import size_of

_MOST_OPEN = 64
"""Calls that wait at once; a failed task among more is not told apart from the others."""


class Talk:
    """Messages of a thread, taken in task by task.

    Attributes:
        known: what is known where the history is being followed.
        askers: tasks that asked for calls.
        answered: (answer, task whose model asked for it).
        read: (task, answer that its model was the first to read).
        requests: everything that was asked for.
        contested: answers to calls of one id that several tasks of one step had asked for.
        nameless: messages of tools that name no call.
    """

    def __init__(self, keep_content: bool) -> None:
        self.known = Known()
        self.askers: list[Task] = []
        self.answered: list[tuple[Answer, Task]] = []
        self.read: list[tuple[Task, Answer]] = []
        self.requests: list[Request] = []
        self.contested = 0
        self.nameless = 0
        self._keep_content = keep_content
        self._unheard: list[Answer] = []
        self._turn = 0

    def take_outside(self, state: State) -> None:
        """Take in what a state holds that was written from outside: edited calls, given answers."""
        for request in list(self.known.open.values()):
            call_id = request.call.id or ""
            if state.answers(call_id, request.channel):
                self._close(request, call_id, request.channel, None)
                continue
            asked = state.request(call_id, request.channel)
            if asked is not None:
                self._edit(asked, request.channel)

    def take(
        self, task: Task, values: Iterable[tuple[str, Any]], given: State, *, is_start: bool
    ) -> None:
        """Take in the values that a task wrote.

        Args:
            task: the task; its record is filled in.
            values: channels and values, in the order in which it wrote them.
            given: what it was handed.
            is_start: it only passes on the input of the graph.
        """
        record = task.record
        said: list[Message] = []
        spoke_in: set[str] = set()
        self._unheard.clear()
        for channel, message in ((name, m) for name, value in values for m in messages_in(value)):
            # An inner graph's messages are the task's own, also those that the inner graph keeps.
            is_old = message.id is not None and message.id in given.ids and not task.inner
            if message.role == TOOL and message.call_id is not None:
                is_news = self._is_news(message, message.call_id, channel, given)
                is_old |= not (is_news or task.inner) and message.call_id in given.answered
                record.heard |= not (is_old or message.is_frameworks_own)
                if is_news:
                    is_outside = is_start or message.is_frameworks_own
                    self._take_answer(task, message, channel, given, is_outside)
            elif message.role == TOOL:
                self.nameless += not (is_old or is_start)
            elif message.role == MODEL:
                record.said |= is_of_a_model(message) and not is_old
                if self._take_said(task, message, channel, given, is_start):
                    said.append(message)
                    spoke_in.add(channel)
        if said:
            self._finish(task, said, given, spoke_in & given.channels)
        if record.asked:
            self.askers.append(task)
        if record.has_error and not record.has_result:
            self._note_open(record)

    def _note_open(self, record: Record) -> None:
        """Keep which calls a failed task may have been running."""
        given = record.is_asked
        if given is not None:
            record.open = _handed(given, self.known.waiting(given.id or ""))
        elif len(self.known.open) <= _MOST_OPEN:
            record.open = list(self.known.open.values())

    def _take_said(
        self, task: Task, message: Message, channel: str, given: State, is_start: bool
    ) -> bool:
        """Take in a model's message; return whether a model call of this task said it."""
        known = self.known
        calls = asked_by(message)
        is_old = message.id is not None and (message.id in given.ids or message.id in known.said)
        if is_old or is_start or not is_of_a_model(message):
            for call in calls:
                self._edit(call, channel)
            if message.id is not None and not is_old:
                known.put(known.said, message.id, True)
            return False
        if message.id is not None:
            known.put(known.said, message.id, True)
        self._turn += 1
        for call in calls:
            request = Request(call.call(), len(self.askers), channel, self._turn)
            self.requests.append(request)
            task.record.asked.append(request)
            known.ask(request)
        for answer in self._unheard:  # before the task's model spoke again, so read by it
            known.hear(answer)
        self._unheard.clear()
        return True

    def _finish(
        self, task: Task, said: list[Message], given: State, conversation: set[str]
    ) -> None:
        """Take in the end of a task whose model spoke.

        Args:
            task: the task.
            said: what its model said.
            given: what it was handed.
            conversation: the lists of messages that it went on with; it read no others. Where
                there are none, what it read is any of those that it was handed.
        """
        record, known = task.record, self.known
        record.usage = usage_of(said)
        record.answers_in_text = said[-1].text is not None and not asked_by(said[-1])
        own = {id(answer) for answer in record.answers}
        unread = [a for a in known.unread_of(given.answered) if id(a) not in own]
        for answer in [a for a in unread if self._is_read(a, given, conversation)]:
            self.read.append((task, answer))
            known.hear(answer)

    def _is_read(self, answer: Answer, given: State, conversation: set[str]) -> bool:
        """Tell whether a result is in the lists of messages that a model went on with.

        Another list may hold it than the one that it was written to; where several results of one
        id wait, only its own list tells it apart.
        """
        where = given.answered[answer.call_id]
        where = where & conversation if conversation else where
        if not where or answer.channel in where:
            return bool(where)
        of_call = self.known.unread_by_call[answer.call_id]
        return len(of_call) == 1 or all(other.channel not in where for other in of_call.values())

    def _is_news(self, message: Message, call_id: str, channel: str, given: State) -> bool:
        """Tell whether a tool's message is a new result, not one that a node writes once more."""
        if message.id is not None and message.id in given.ids:
            return False
        waiting = self.known.waiting(call_id)
        if any(request.channel == channel for request in waiting):
            return True
        is_known = call_id in given.answered or call_id in self.known.answered
        return not is_known or (bool(waiting) and channel not in given.answered.get(call_id, ()))

    def _take_answer(
        self, task: Task, message: Message, channel: str, given: State, is_outside: bool
    ) -> None:
        call_id = message.call_id or ""
        name, status = message.fields.get("name"), message.fields.get("status")
        name = name if isinstance(name, str) and name else None
        request = self._asked(call_id, name, channel, task.record.is_asked)
        if is_outside:
            self._close(request, call_id, channel, None)
            return
        call = request.call if request is not None else None
        asked = given.request(call_id, request.channel if request is not None else channel)
        if call is None and asked is not None:
            call = asked.call()
        answer = Answer(
            call_id,
            name or (call.name if call else None),
            status if isinstance(status, str) else None,
            call,
            *result_of(message),
            channel=channel,
        )
        if self._keep_content or answer.status == "error":
            answer.text = message.text
        if asked is not None and call is not None and asked.call().args == call.args:
            text = as_text(asked.args)
            answer.args_size = -1 if text is None else size_of(text)
            answer.arguments = text if self._keep_content else None
        task.record.answers.append(answer)
        self._close(request, call_id, channel, answer)
        self.known.tell(answer)
        self._unheard.append(answer)
        if request is not None and request.asker >= 0:
            asker = task if request.asker == len(self.askers) else self.askers[request.asker]
            self.answered.append((answer, asker))

    def _asked(
        self, call_id: str, name: str | None, channel: str, given: Call | None
    ) -> Request | None:
        """Return the request that an answer belongs to.

        Of several of one id: the call that the task was handed, else that of the same list of
        messages, of the same tool, the latest; of several in one message, the first. None is told
        apart from another's of the same step.
        """
        waiting = self.known.waiting(call_id)
        if given is not None and given.id == call_id:
            waiting = _handed(given, waiting)
        waiting = [r for r in waiting if r.channel == channel] or waiting
        waiting = [r for r in waiting if r.call.name == name] or waiting
        if len(waiting) < 2:
            return waiting[0] if waiting else None
        rivals = self._rivals(waiting)
        if not rivals:
            return min((r for r in waiting if r.turn == waiting[-1].turn), key=lambda r: r.number)
        self.contested += 1
        for rival in rivals:
            rival.answered = True  # or not: nobody knows
            self.known.close(rival)
            self.known.ask(Request(Call(call_id, name), -1, rival.channel))
        return self.known.waiting(call_id)[-1]

    def _rivals(self, waiting: list[Request]) -> list[Request]:
        """Return the requests of the step that asked last, where several tasks of it asked."""
        asked = [r for r in waiting if 0 <= r.asker < len(self.askers)]
        if not asked or asked[-1] is not waiting[-1]:
            return []
        step = self.askers[asked[-1].asker].checkpoint
        rivals = [r for r in asked if self.askers[r.asker].checkpoint is step]
        return rivals if len({r.asker for r in rivals}) > 1 else []

    def _close(
        self, request: Request | None, call_id: str, channel: str, answer: Answer | None
    ) -> None:
        known = self.known
        if request is not None:
            request.answered = True
            known.close(request)
        known.put(known.answered, call_id, answer)
        if answer is None:
            for other in list(known.unread_by_call.get(call_id, {}).values()):
                if other.channel == channel:
                    known.hear(other)

    def _edit(self, asked: Asked, channel: str) -> None:
        """Take in a request that somebody rewrote before it was answered, or gave from outside."""
        known = self.known
        waiting = known.waiting(asked.id)
        waiting = [r for r in waiting if r.channel == channel] or waiting
        if not waiting:
            if asked.id not in known.answered:
                known.ask(Request(asked.call(), -1, channel))
            return
        call = asked.call()
        if all((call.name, call.args) != (r.call.name, r.call.args) for r in waiting):
            request = waiting[-1]
            edited = Request(call, request.asker, request.channel, request.turn)
            self.requests.append(edited)
            request.answered = True  # what was asked for at first, nobody is to answer any more
            known.close(request)
            known.ask(edited)


def _handed(given: Call, waiting: list[Request]) -> list[Request]:
    """Return the open request that a task was handed; all of that id where none is the same call.

    Tasks of one step do not hear each other, so which of two equal requests is another's is told
    by who has answered it.
    """
    same = [r for r in waiting if (r.call.name, r.call.args) == (given.name, given.args)]
    return [r for r in same if not r.answered][:1] or same[:1] or waiting

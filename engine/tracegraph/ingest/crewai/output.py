"""The result of a crew, ``CrewOutput`` as JSON: a step for each task, and the turns of its agent.

Releases since 1.0 keep the messages of a task. The last answer of its model is the task's ``raw``
output, and among the messages only where the model was called with functions; releases since 1.15
list which tools failed. Nothing has a time, and which task was given the output of which one is
told by the text that a task was given as its context.
"""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from tracegraph.errors import InputError
from tracegraph.ingest.attributes import dump
from tracegraph.ingest.crewai.context import contexts_in
from tracegraph.ingest.crewai.failures import mark_failures
from tracegraph.ingest.crewai.react import ReactTurn, react_turn
from tracegraph.ingest.crewai.records import AREA
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.nesting import is_too_deep
from tracegraph.ingest.source import Source
from tracegraph.ingest.tolerant_json import decode_json
from tracegraph.ingest.transcript.chat import Chat
from tracegraph.ingest.transcript.content import content_digest, content_text
from tracegraph.ingest.transcript.fields import Fields
from tracegraph.ingest.transcript.turns import ModelTurn, ToolTurn, asked
from tracegraph.model.codes import FIDELITY_CODE, KIND_CODE, STATUS_CODE
from tracegraph.model.draft import Draft

LISTS = ("tasks_output", "tasks")
_AGENT, _OK = KIND_CODE["AGENT"], STATUS_CODE["ok"]
_BODIES = frozenset({"description", "expected_output", "summary", "raw", "messages"})
_USAGE = ("prompt_tokens", "completion_tokens", "total_tokens", "successful_requests")


class Output(Struct):
    """A decoded result and the id of its trace."""

    trace_id: str
    value: dict[str, Any]


def read_output(data: bytes, place: str, losses: Losses) -> dict[str, Any]:
    """Decode a result.

    Raises:
        InputError: it is no JSON, or holds no list of tasks.
    """
    value = decode_json(data, place, losses)
    if not isinstance(value, dict) or not any(isinstance(value.get(key), list) for key in LISTS):
        raise InputError(f"{place}: a result of a crew without a list of tasks")
    return value


def add_output(draft: Draft, output: Output, source: Source, losses: Losses) -> None:
    """Append the trace of a result."""
    crew = Fields(output.value, "the crew", AREA, losses)
    tasks = crew.items(next(key for key in LISTS if isinstance(output.value.get(key), list)))
    agents = [task.get("agent") for task in tasks if isinstance(task, dict)]
    agent = agents[0] if agents and all(each == agents[0] for each in agents) else None
    draft.begin(
        output.trace_id,
        source=AREA,
        file=source.name,
        file_digest=source.digest,
        agent=agent if isinstance(agent, str) and agent else None,
        fidelity=FIDELITY_CODE["order_only"],
        attributes=_usage(crew),
    )
    made: dict[str, int | None] = {}
    for number, value in enumerate(tasks, 1):
        if not isinstance(value, dict):
            losses.add("crewai.unreadable_task", f"task {number} cannot be used")
            continue
        task = _Task(draft, value, f"task-{number}", losses)
        task.add()
        for text in task.given:
            row = made.get(text)
            if row is not None:
                draft.link(task.row, row, "data_flow")
        if task.raw is not None:  # what two tasks made may be from either
            made[task.raw.strip()] = None if task.raw.strip() in made else task.row
    draft.traces.gaps[-1].update(losses.counts)


class _Task:
    """One task on its way into a draft.

    Attributes:
        row: of its step.
        raw: its output.
        given: the outputs of other tasks that it was given.
    """

    def __init__(self, draft: Draft, value: dict[str, Any], step_id: str, losses: Losses) -> None:
        self._draft = draft
        self._fields = Fields(value, step_id, AREA, losses)
        self._id = step_id
        self._losses = losses
        self._agent = self._fields.text("agent")
        self._chat = Chat(draft, AREA, losses, self._agent)
        self._tools: list[int] = []
        self.row = -1
        self.raw = self._fields.text("raw")
        self.given: list[str] = []

    def add(self) -> None:
        """Append the task's step and those of its turns."""
        fields, keeps = self._fields, self._draft.keep_content
        self.row = self._draft.step(
            self._id,
            kind=_AGENT,
            name=self._agent or self._name(),
            agent=self._agent,
            status=_OK,
            status_source="default",
            input=fields.text("description"),
            output=self.raw,
            attributes=self._rest() if keeps else None,
        )
        if "raw" not in fields.values:
            self._losses.add("crewai.missing_output", f"{self._id}: a task without its output")
        messages = fields.items("messages")
        for number, message in enumerate(messages, 1):
            for row in self._turn(message, f"{self._id}.{number}"):
                self._hold(row)
        if messages:
            self._answer(messages[-1])
        self._chat.transcript.end()
        mark_failures(self._draft, self._tools, fields, self._losses)

    def _turn(self, message: Any, step_id: str) -> Iterator[int]:
        role = message.get("role") if isinstance(message, dict) else None
        turn = react_turn(message.get("content")) if role == "assistant" else None
        if turn is not None and not message.get("tool_calls"):
            yield from self._react(turn, step_id)
            return
        row = self._chat.add(message, step_id)
        if row is None:
            content = message.get("content") if isinstance(message, dict) else None
            self.given += contexts_in(content)
        else:
            yield row

    def _react(self, turn: ReactTurn, step_id: str) -> Iterator[int]:
        transcript, keeps = self._chat.transcript, self._draft.keep_content
        calls = [asked(None, turn.tool, turn.given)]
        said = turn.said if keeps else None
        yield transcript.add_model(
            ModelTurn(step_id=step_id, agent=self._agent, text=said, calls=calls)
        )
        result, size = content_digest(turn.result)
        tool = ToolTurn(
            step_id=f"{step_id}.tool",
            name=turn.tool,
            result=result,
            result_size=size,
            text=turn.result if keeps else None,
        )
        yield transcript.add_tool(tool)[0]

    def _answer(self, last: Any) -> None:
        """Append the model's last answer, where it is no message; a tool's may be the output."""
        role = last.get("role") if isinstance(last, dict) else None
        content = last.get("content") if isinstance(last, dict) else None
        is_answer = role == "assistant" and react_turn(content) is None
        if self.raw is None or is_answer or (role == "tool" and content_text(content) == self.raw):
            return
        text = self.raw if self._draft.keep_content else None
        turn = ModelTurn(step_id=f"{self._id}.answer", agent=self._agent, text=text)
        self._hold(self._chat.transcript.add_model(turn))

    def _hold(self, row: int) -> None:
        self._draft.link(row, self.row, "span_parent")
        steps = self._draft.steps
        if steps.kind[row] == KIND_CODE["TOOL"]:
            self._tools.append(row)
            steps.agent[row] = self._agent

    def _name(self) -> str | None:
        """Return the name; of a task that has none, its description stands in its place."""
        name = self._fields.text("name")
        return None if name == self._fields.text("description") else name

    def _rest(self) -> str | None:
        values = self._fields.values
        rest = {k: v for k, v in values.items() if k not in _BODIES and not is_too_deep(v)}
        return dump({key: value for key, value in rest.items() if value not in (None, {}, [])})


def _usage(crew: Fields) -> str | None:
    """Return the tokens of the crew as a whole, which are no step's; all zeros are not known."""
    usage = crew.inner("token_usage")
    counts = {key: usage.count(key) for key in _USAGE}
    known = {key: count for key, count in counts.items() if count >= 0}
    return dump({"token_usage": known}) if any(known.values()) else None

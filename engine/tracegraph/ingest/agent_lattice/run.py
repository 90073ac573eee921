"""From the rows of one agent-lattice run to its steps and the causes within it.

A run is an AGENT step that contains: the prompt (PROMPT), a step a model call (``model_request``
and ``assistant_message``), a step a tool call, compactions, and the result (CHAIN ``result``: the
message with which the run answers whoever asked; the AGENT step has its status). Rows of a run are
taken in the order of the file: ``seq`` starts anew with every tracer, and times are not monotone.

A model step is caused by the context rows that it is the first to read: prompts, compactions and,
since message batches are no steps, the tools whose results a batch hands over.
"""

from typing import Any

from msgspec import Raw

from tracegraph.ingest.agent_lattice.calls import link_calls
from tracegraph.ingest.agent_lattice.content import (
    blocks,
    hear,
    offered,
    plain,
    shown,
    without_images,
)
from tracegraph.ingest.agent_lattice.context import Context, Prompt
from tracegraph.ingest.agent_lattice.outcome import Outcome, describe, run_outcome
from tracegraph.ingest.agent_lattice.records import (
    Row,
    Speaker,
    decode_data,
    decode_request,
    is_text,
    mapping,
    text,
)
from tracegraph.ingest.agent_lattice.steps import Place, Steps
from tracegraph.ingest.agent_lattice.tools import Tools, Use
from tracegraph.ingest.attributes import dump
from tracegraph.ingest.call_steps import Messages, ModelStep
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.status import ERROR, OK, UNSET
from tracegraph.ingest.times import parse_time
from tracegraph.model.codes import KIND_CODE, UNKNOWN
from tracegraph.model.draft import Draft

_LLM, _CHAIN, _PROMPT = KIND_CODE["LLM"], KIND_CODE["CHAIN"], KIND_CODE["PROMPT"]
_Data = dict[str, Any]


class Run:
    """One run while its rows come in, and what the other runs of its trace ask of it afterwards.

    Attributes:
        row: its AGENT step.
        session_id: its session.
        parent_id: ``parent_run_id``.
        speaker: who acts.
        conversation: ``agent_session_id``: runs of one agent share its history.
        prompts: its PROMPT steps.
        tools: its tool calls.
        result: row of its CHAIN ``result``, -1 while it has none.
        last_rows: the steps that it follows from.
        outcome: what it says.
        readers: model steps that read a tool step's result, by row of the tool step.
    """

    def __init__(
        self,
        draft: Draft,
        row: int,
        session_id: str | None,
        parent_id: str | None,
        losses: Losses,
    ) -> None:
        self.row = row
        self.session_id = session_id
        self.parent_id = parent_id
        self.speaker: Speaker | None = None
        self.conversation: str | None = None
        self.prompts: list[Prompt] = []
        self.result = -1
        self.last_rows: list[int] = []
        self.outcome = Outcome()
        self.readers: dict[int, list[int]] = {}
        self._losses = losses
        self._steps = Steps(draft, row, losses)
        self.tools = Tools(self._steps)
        self._context = Context(self._steps, self.tools)
        self._models: list[ModelStep] = []
        self._waiting: ModelStep | None = None
        self._has_start = False
        self._raised: Any = None

    def add(self, row: Row, line: int, unread: list[Use]) -> None:
        """Take the next row.

        Gap codes: ``agent_lattice.missing_field``, ``agent_lattice.unknown_record``,
        ``agent_lattice.unreadable_timestamp``.

        Args:
            row: the row.
            line: its number in the file.
            unread: tool calls of earlier runs of the trace whose result nobody has read.
        """
        at = Place(line, self._time(row, line))
        self._meet(row, at)
        if row.type == "model_request":
            self._request(row.data, at, unread)
            return
        data = decode_data(row.data, f"line {line}", self._losses)
        match row.type:
            case "run_start":
                self._start(data, at)
            case "user_message":
                self._user_message(data, at)
            case "assistant_message":
                self._answer(data, at)
            case "tool_use":
                self._assume_answered(at)
                self.tools.use(data, at)
            case "tool_result":
                self._assume_answered(at)
                self.tools.result(data, at)
            case "compaction":
                self._compact(data, at)
            case "error":
                self._error(data, at)
            case "result":
                self._end(data, at)
            case _:
                self._disclose("agent_lattice.unknown_record", at, f"a row of type {row.type!r}")

    def finish(self) -> None:
        """Add the causes and signals that tool calls and their results tell.

        Gap code: ``agent_lattice.missing_run_start``.
        """
        if not self._has_start:
            self._losses.add("agent_lattice.missing_run_start", "a run without run_start")
        if self._raised is not None and self.result < 0:
            columns = self._steps.columns
            columns.status[self.row], columns.status_source[self.row] = ERROR, "error"
            columns.error_type[self.row], columns.error_message[self.row] = describe(self._raised)
        self.readers = link_calls(
            self._steps, self._models, self.tools.uses, self._context.inferred, self._losses
        )

    def _time(self, row: Row, line: int) -> int:
        if row.timestamp is None:
            self._losses.add("agent_lattice.missing_field", f"line {line}: there is no timestamp")
            return UNKNOWN
        try:
            return parse_time(row.timestamp)
        except ValueError:
            what = f"line {line}: {row.timestamp!r} is no time"
            self._losses.add("agent_lattice.unreadable_timestamp", what)
            return UNKNOWN

    def _meet(self, row: Row, at: Place) -> None:
        """Note who acts, and the first time that is known of the run: without run_start too."""
        columns = self._steps.columns
        if columns.start[self.row] < 0:
            columns.start[self.row] = at.time
        if row.source is None or text(row.source.name) is None:
            self._disclose("agent_lattice.missing_field", at, "there is no source with a name")
        elif self.speaker is None:
            self.speaker = row.source
            self._steps.agent = text(row.source.name)
            columns.name[self.row] = columns.agent[self.row] = self._steps.agent

    def _start(self, data: _Data, at: Place) -> None:
        self._has_start = True
        self.conversation = text(data.get("agent_session_id"))
        if self._steps.keep_content:
            self._steps.columns.attributes[self.row] = without_images(dump(data))

    def _user_message(self, data: _Data, at: Place) -> None:
        message = data.get("message")
        content = mapping(message).get("content")
        if blocks(content, "tool_result"):
            self._assume_answered(at)
            self._context.add_batch(self.tools.batch(content, at))
        elif self._context.awaits_batch():  # what follows tools is their batch: it was replaced
            self._disclose("agent_lattice.redacted", at, "the results of a turn are text")
            self._context.add_batch(self.tools.returned(), inferred=True)
        else:
            if message is not None and not isinstance(message, dict):
                self._disclose("agent_lattice.redacted", at, "a message is text")
            row = self._steps.add(str(at.line), _PROMPT, start=at.time, end=at.time)
            prompt = Prompt(row, at.line, plain(content))
            self.prompts.append(prompt)
            self._context.add_prompt(prompt)
            if self._steps.keep_content:
                self._steps.columns.input[row] = shown(content)

    def _request(self, raw: Raw, at: Place, unread: list[Use]) -> None:
        self._assume_answered(at)
        request = decode_request(raw, f"line {at.line}", self._losses)
        model = self._add_model(at, at.time, request.messages, unread)
        model.messages.offered = offered(request.tools)
        self._steps.columns.model[model.row] = text(request.model)
        self._waiting = model
        if self._steps.keep_content:
            kept = without_images(bytes(request.messages).decode(errors="replace"))
            self._steps.columns.input[model.row] = kept
        if is_text(request.messages):
            self._disclose("agent_lattice.redacted", at, "the messages of a request are text")

    def _add_model(self, at: Place, start: int, messages: Raw, unread: list[Use]) -> ModelStep:
        row = self._steps.add(str(at.line), _LLM, start=start)
        reads = self._context.give(row, messages, unread if not self._models else [])
        model = ModelStep(row, (at.line, row), (self.row,), Messages(reads=reads), went_on=False)
        self._models.append(model)
        self.tools.begin_turn(row)
        return model

    def _answer(self, data: _Data, at: Place) -> None:
        model = self._waiting
        if model is None:
            self._disclose("agent_lattice.missing_model_request", at, "an answer without request")
            model = self._add_model(at, UNKNOWN, Raw(b"null"), [])
        self._waiting = None
        message = data.get("message")
        if isinstance(message, str):
            self._disclose("agent_lattice.redacted", at, "a message is text")
        elif message is not None and not isinstance(message, dict):
            self._disclose("agent_lattice.unreadable_field", at, "a message is no object")
        hear(message, model.messages)
        model.went_on = True
        if isinstance(message, dict):
            self.tools.hear(model.messages.calls)
        columns = self._steps.columns
        columns.end[model.row] = at.time
        self._steps.conclude(model.row, Outcome(OK, "assistant_message"), at)
        known = mapping(message)
        columns.model[model.row] = text(known.get("model")) or columns.model[model.row]
        self._steps.count_tokens(model.row, known.get("usage"), at)
        if self._steps.keep_content:
            columns.output[model.row] = shown(known.get("content", message))

    def _assume_answered(self, at: Place) -> None:
        """Note that the run went on, so that the model answered though no row says what."""
        if self._waiting is not None:
            what = "the run went on after a request without answer"
            self._disclose("agent_lattice.missing_assistant_message", at, what)
            self._waiting = None

    def _compact(self, data: _Data, at: Place) -> None:
        row = self._steps.add(str(at.line), _CHAIN, "compaction", start=at.time, end=at.time)
        overflowed = self._waiting if data.get("recovered_from_overflow") is True else None
        if overflowed is not None:
            outcome = Outcome(ERROR, "compaction.recovered_from_overflow")
            self._steps.conclude(overflowed.row, outcome, at)
            self._waiting = None
        self._context.compact(row, None if overflowed is None else overflowed.row)
        if self._steps.keep_content:
            self._steps.columns.output[row] = shown(data.get("summary"))

    def _error(self, data: _Data, at: Place) -> None:
        """Blame the model call that was under way, else the run: an error row names neither."""
        error = data.get("error")
        self._steps.check_error(error, at)
        if self._waiting is None:
            self._raised = error
            return
        self._steps.conclude(self._waiting.row, Outcome(ERROR, "error", *describe(error)), at)
        self._waiting = None

    def _end(self, data: _Data, at: Place) -> None:
        if self.result >= 0:
            self._disclose("agent_lattice.repeated_result", at, "the run had ended before")
            return
        if not isinstance(data.get("is_error"), bool):
            self._disclose("agent_lattice.missing_field", at, "a result without is_error")
        self._steps.check_error(data.get("error"), at)
        if self._raised is not None:
            data.setdefault("error", self._raised)
        self.outcome = outcome = run_outcome(data)
        columns = self._steps.columns
        self._steps.conclude(self.row, outcome, at)
        columns.end[self.row] = at.time
        self._steps.count_tokens(self.row, data.get("usage"), at)
        if outcome.status == ERROR and self._waiting is not None:
            failed = Outcome(ERROR, "result", outcome.error_type, outcome.error_message)
            self._steps.conclude(self._waiting.row, failed, at)
        elif outcome.status != UNSET:
            self._assume_answered(at)
        self.result = self._steps.add(str(at.line), _CHAIN, "result", start=at.time, end=at.time)
        self.last_rows = self._context.last_rows()
        if self._steps.keep_content:
            said = data.get("structuredResult", data.get("result"))
            columns.output[self.result] = shown(said)

    def _disclose(self, code: str, at: Place, what: str) -> None:
        self._steps.disclose(code, at, what)

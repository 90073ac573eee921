"""The tool calls of one agent-lattice run: a ``tool_use``, its result, and the batch of a turn."""

from dataclasses import dataclass
from typing import Any

from tracegraph.ingest.agent_lattice.content import blocks, digest, shown, without_images
from tracegraph.ingest.agent_lattice.mail import Receipt, read_receipt
from tracegraph.ingest.agent_lattice.outcome import tool_outcome
from tracegraph.ingest.agent_lattice.records import mapping, text
from tracegraph.ingest.agent_lattice.steps import Place, Steps
from tracegraph.ingest.attributes import dump
from tracegraph.ingest.requests import Call
from tracegraph.ingest.status import ERROR
from tracegraph.ingest.tool_payload import size_of
from tracegraph.model.codes import KIND_CODE, UNKNOWN
from tracegraph.model.digest import digest_value

_TOOL = KIND_CODE["TOOL"]
_FROM_ROW, _FROM_BATCH = "tool_result", "user_message"
_Data = dict[str, Any]
_Said = tuple[str | None, str | None, bool]
"""What a result and its block in a batch say alike: call id, digest of the content, failure."""


@dataclass(slots=True, eq=False)
class Use:
    """One TOOL step.

    Attributes:
        row: its row.
        line: of the row that opened it.
        turn: row of the model step in whose turn it ran, -1 unknown.
        heard: what that model step asked for is recorded.
        end: line of its result, -1 while it has none.
        task: what a member or an agent was asked to do by it.
        receipt: it handed work over, and this is the answer.
        failed: its status is error.
        contested: its result came while other calls of its id were open.
    """

    row: int
    line: int
    turn: int
    heard: bool
    call_id: str | None
    name: str | None
    args: str | None = None
    end: int = -1
    task: str | None = None
    receipt: Receipt | None = None
    failed: bool = False
    contested: bool = False


class Tools:
    """The tool steps of a run, in the order of its rows.

    Attributes:
        uses: all of them.
        turn: those since the last model step.
    """

    def __init__(self, steps: Steps) -> None:
        self.uses: list[Use] = []
        self.turn: list[Use] = []
        self._steps = steps
        self._open: dict[str, list[Use]] = {}
        self._model = -1
        self._asked: dict[str | None, Call] | None = None
        self._contested: dict[_Said, list[tuple[_Data, Place]]] = {}

    def begin_turn(self, model: int) -> None:
        """Note a model step: what follows runs in its turn."""
        self.turn = []
        self._model = model
        self._asked = None
        self._contested.clear()

    def hear(self, calls: list[Call]) -> None:
        """Note what the model step of the turn asked for."""
        self._asked = {call.id: call for call in calls}

    def use(self, data: _Data, at: Place) -> None:
        """Open a step for a ``tool_use`` row."""
        given = data.get("input")
        if isinstance(given, str):  # equal placeholders would look like equal arguments
            self._steps.disclose("agent_lattice.redacted", at, "the input of a tool is text")
        known = None if isinstance(given, str) else given
        call_id = text(data.get("id"))
        name = text(data.get("name"))
        if call_id is None or name is None:
            self._steps.disclose("agent_lattice.missing_field", at, "a call without id or name")
        use = self._add(at, str(at.line), call_id, name, at.time)
        use.args = digest_value(known)
        use.task = text(mapping(given).get("task"))
        columns = self._steps.columns
        columns.args[use.row] = use.args
        if known is not None:
            columns.args_size[use.row] = size_of(dump(known))
        if self._steps.keep_content:
            columns.input[use.row] = shown(given)
            if "description" in data:
                kept = {"description": data["description"]}
                columns.attributes[use.row] = without_images(dump(kept))
        if call_id is not None:
            self._open.setdefault(call_id, []).append(use)

    def result(self, data: _Data, at: Place) -> None:
        """End the latest open step of the id that a ``tool_result`` row names."""
        call_id = text(data.get("tool_use_id"))
        waiting = self._open.get(call_id or "", [])
        if len(waiting) > 1:
            self._steps.disclose(
                "agent_lattice.ambiguous_result", at, f"{len(waiting)} calls {call_id!r} open"
            )
            waiting[-1].contested = waiting[-2].contested = True
        if waiting:
            use = waiting.pop()
            if use.contested:
                self._contested.setdefault(_said(data), []).append((data, at))
        else:
            self._steps.disclose("agent_lattice.missing_tool_use", at, f"no open call {call_id!r}")
            use = self._recover(at, str(at.line), call_id)
        if not isinstance(data.get("is_error"), bool):
            self._steps.disclose("agent_lattice.missing_field", at, "a result without is_error")
        self._steps.columns.end[use.row] = at.time
        self._end(use, data, data.get("is_error"), _FROM_ROW, at)

    def batch(self, content: Any, at: Place) -> list[str]:
        """Read the message that hands the results of a turn back. Return their call ids.

        It holds every result in the order of the calls, so it tells what is missing elsewhere.
        """
        of_turn: dict[str | None, list[Use]] = {}
        for use in reversed(self.turn):
            of_turn.setdefault(use.call_id, []).append(use)
        ids: list[str] = []
        for number, block in enumerate(blocks(content, "tool_result"), 1):
            call_id = text(block.get("tool_use_id"))
            known = of_turn.get(call_id)
            if known:
                use = known.pop()
            else:
                self._steps.disclose(
                    "agent_lattice.missing_tool_use", at, f"no call {call_id!r} in its turn"
                )
                use = self._recover(at, f"{at.line}.{number}", call_id)
            if use.end < 0:
                self._end_by_batch(use, block, at)
            elif use.contested:
                self._tell_apart(use, block)
            if call_id is not None:
                ids.append(call_id)
        return ids

    def returned(self) -> list[str]:
        """Return the call ids of the turn's steps that have a result."""
        return [use.call_id for use in self.turn if use.end >= 0 and use.call_id is not None]

    def _end_by_batch(self, use: Use, block: _Data, at: Place) -> None:
        if use.line != at.line:
            self._steps.disclose(
                "agent_lattice.missing_tool_result", at, f"call {use.call_id!r} has no result"
            )
            waiting = self._open.get(use.call_id or "", [])
            if use in waiting:
                waiting.remove(use)
        # Blocks leave the flag out where it is false.
        self._end(use, block, block.get("is_error", False), _FROM_BATCH, at)

    def _tell_apart(self, use: Use, block: _Data) -> None:
        """Give one of several calls of an id its own result: a batch is in the order of the calls.

        Rows of results are in the order in which the calls ended, so only the batch tells which
        row is whose.
        """
        rows = self._contested.get(_said(block))
        if rows:
            data, at = rows.pop(0)
            self._steps.columns.end[use.row] = at.time
            self._end(use, data, data.get("is_error"), _FROM_ROW, at)

    def _recover(self, at: Place, step_id: str, call_id: str | None) -> Use:
        """Add a step of which only the result is recorded, with what the model asked for."""
        call = (self._asked or {}).get(call_id, Call())
        use = self._add(at, step_id, call_id, call.name, UNKNOWN)
        use.args = self._steps.columns.args[use.row] = call.args
        return use

    def _add(
        self, at: Place, step_id: str, call_id: str | None, name: str | None, start: int
    ) -> Use:
        row = self._steps.add(step_id, _TOOL, name, start=start, tool_call_id=call_id)
        use = Use(row, at.line, self._model, self._asked is not None, call_id, name)
        self.uses.append(use)
        self.turn.append(use)
        return use

    def _end(self, use: Use, data: _Data, is_error: Any, source: str, at: Place) -> None:
        content = data.get("content")
        said = shown(content)
        self._steps.check_error(data.get("error"), at)
        outcome = tool_outcome(is_error, data.get("error"), said, source)
        self._steps.conclude(use.row, outcome, at)
        columns = self._steps.columns
        columns.result[use.row] = digest(content)
        columns.result_size[use.row] = UNKNOWN if said is None else size_of(said)
        if self._steps.keep_content:
            columns.output[use.row] = said
        use.end = at.line
        use.failed = outcome.status == ERROR
        use.receipt = read_receipt(content) if is_error is not True else None


def _said(result: _Data) -> _Said:
    is_error = result.get("is_error") is True
    return text(result.get("tool_use_id")), digest(result.get("content")), is_error

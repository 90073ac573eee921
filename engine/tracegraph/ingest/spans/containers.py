"""What contains a step, up to the span that tells which conversation it belongs to."""

from tracegraph.ingest.spans.record import SpanRecord
from tracegraph.ingest.step_fields import AGENT, LLM, TOOL, StepFields

_NOWHERE = (-1,)
_MAX_PATH = 8
"""More containers than this between a step and its conversation are not told apart."""


class Containers:
    """The containers of the steps of one trace."""

    def __init__(self, records: list[SpanRecord], rows: dict[str, int]) -> None:
        self._by_id = {record.step_id: record for record in records}
        self._rows = rows
        self._below: dict[str, tuple[int, ...]] = {}

    def of(self, record: SpanRecord) -> tuple[int, ...]:
        """Return the rows of a step's containers from the nearest to its conversation's.

        That one is the nearest ancestor that is an agent of its own or a tool (what runs inside of
        a tool talks for itself), or that holds a graph node's wrapper on the way up, else the top;
        -1 where nothing contains the step. A model step holds no conversation.
        """
        climbed: list[SpanRecord] = []
        known: tuple[int, ...] | None = None
        seen: set[str] = set()
        while True:
            above = self._by_id.get(record.parent) if record.parent is not None else None
            if above is None or above.step_id in seen:
                known = _NOWHERE
                break
            known = self._below.get(above.step_id) if not record.fields.wrapper else None
            if known is not None:
                break
            if record.fields.wrapper or _is_conversation(above.fields):
                known = (self._rows[above.step_id],)
                break
            seen.add(above.step_id)
            climbed.append(above)
            record = above
        for above in reversed(climbed):
            row = self._rows[above.step_id]
            is_top = known == _NOWHERE and above.fields.kind != LLM
            known = (row,) if is_top else (row, *known)
            if len(known) > _MAX_PATH:
                known = (*known[: _MAX_PATH - 1], known[-1])
            self._below[above.step_id] = known
        return known


def _is_conversation(fields: StepFields) -> bool:
    return fields.kind == TOOL or (fields.kind == AGENT and not fields.wrapper)

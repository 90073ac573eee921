"""Events of CrewAI's bus (``crewai.events``), one a line: a started event and its end are a step.

``event.to_json()`` and ``model_dump(mode="json")`` make objects. The former cuts below five levels
and writes what lies deeper as Python shows it, which is undone for the calls of a model.
"""

import ast
from collections.abc import Iterator, Sequence
from typing import Any, cast

from msgspec import Struct

from tracegraph.ingest.crewai.records import AREA
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.nesting import is_too_deep
from tracegraph.ingest.salvage import Id, read_record

_ENDS = ("_completed", "_finished", "_failed", "_error")
_NO_STEPS = ("agent_logs_", "checkpoint_")
"""How types of events begin that log what other events say, or concern the recording itself."""
MEMBERS = frozenset({"event_id", "emission_sequence", "type"})


class Event(Struct):
    """One event. Bodies go by other names in each type; they are taken from the decoded value."""

    event_id: Id
    type: str
    timestamp: str | None = None
    parent_event_id: str | None = None
    started_event_id: str | None = None
    triggered_by_event_id: str | None = None
    agent_role: str | None = None
    task_name: str | None = None
    crew_name: str | None = None
    flow_name: str | None = None
    method_name: str | None = None
    tool_name: str | None = None
    model: str | None = None
    usage: dict[str, Any] | None = None
    finish_reason: str | None = None
    error: Any = None
    error_type: str | None = None

    @property
    def starts(self) -> str | None:
        """What starts with the event, None where nothing does."""
        is_start = self.type.endswith("_started") and not self.type.startswith(_NO_STEPS)
        return self.type.removesuffix("_started") if is_start else None

    @property
    def ends(self) -> str | None:
        """What ends with the event, None where nothing does."""
        if self.started_event_id is None or self.type.startswith(_NO_STEPS):
            return None
        end = next((end for end in _ENDS if self.type.endswith(end)), None)
        return None if end is None else self.type.removesuffix(end)


class Whole(Struct):
    """What started and how it ended, either of which the file may lack.

    Attributes:
        step_id: id of the event that started it.
        work: what it is, by the events' types without their ends.
        started: the event and its decoded value.
        ended: the same of the event that ended it.
    """

    step_id: str
    work: str
    started: tuple[Event, dict[str, Any]] | None = None
    ended: tuple[Event, dict[str, Any]] | None = None

    def each(self) -> Iterator[tuple[Event, dict[str, Any]]]:
        """Yield its events, the start first."""
        yield from (found for found in (self.started, self.ended) if found is not None)

    def said(self, name: str) -> Any:
        """Return what its events say of one fact, the start's where both do."""
        values = (getattr(event, name) for event, _ in self.each())
        return next((value for value in values if value is not None), None)

    def body(self, *names: str) -> Any:
        """Return the first body that goes by one of the names, the end's where both have it."""
        for name in names:
            for _, value in (*reversed([*self.each()]),):
                body = value.get(name)
                if body is not None and not is_too_deep(body):
                    return body
        return None


def read_event(value: Any, shown: str, losses: Losses) -> Event | None:
    """Make an event of a decoded object; None where it has no id or no type.

    Gap code: ``crewai.unreadable_field``.
    """
    event = read_record(Event, value, shown, AREA, losses)
    if event is None:
        return None
    for name, item in value.items():
        if is_too_deep(getattr(event, name) if name in Event.__struct_fields__ else item):
            what = f"{shown}: {name}: nested too deeply to be read"
            losses.add("crewai.unreadable_field", what)
    return event


def events_in(value: Any) -> Iterator[Any]:
    """Yield the events of a decoded document: itself, or those of a record of events.

    A checkpoint of the runtime holds one (``crewai.state.event_record``).
    """
    record = value.get("event_record", value) if isinstance(value, dict) else None
    nodes = record.get("nodes") if isinstance(record, dict) else None
    if not isinstance(nodes, dict):
        yield value
        return
    for node in nodes.values():
        yield node.get("event") if isinstance(node, dict) else node


def wholes(events: Sequence[tuple[Event, dict[str, Any]]]) -> tuple[list[Whole], int]:
    """Return what started or ended, in order, and the number of events that did neither.

    An end is of what its ``started_event_id`` names, if that is of its kind: some releases report
    one failure twice, the second time as the end of what is around it.
    """
    found: dict[str, Whole] = {}
    others = 0
    for event, value in events:
        work = event.starts
        if work is not None and event.event_id in found:
            others += 1
        elif work is not None:
            found[event.event_id] = Whole(event.event_id, work, (event, value))
    for event, value in events:
        if event.starts is not None:
            continue
        work, start = event.ends, event.started_event_id
        whole = found.get(start or "")
        if work is None or start is None or (whole is not None and whole.work != work):
            others += 1
        elif whole is None:
            found[start] = Whole(start, work, None, (event, value))
        elif whole.ended is None:
            whole.ended = (event, value)
        else:
            others += 1
    return list(found.values()), others


def unquoted(text: Any) -> Any:
    """Return a text as it was before it was written as Python shows it."""
    if isinstance(text, str) and len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        try:
            return cast("object", ast.literal_eval(text))
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return text
    return text

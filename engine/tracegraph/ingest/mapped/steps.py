"""From a record of a home-made log to a step, field by field."""

from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct

from tracegraph.ingest.attributes import dump, total_of
from tracegraph.ingest.mapped import values
from tracegraph.ingest.mapped.field_map import FieldMap, word_of
from tracegraph.ingest.mapped.records import Record
from tracegraph.ingest.status import ERROR, OK, TOOL_ERROR, UNSET
from tracegraph.ingest.tool_payload import ToolPayload, read_payload
from tracegraph.model.codes import UNKNOWN

_FIELD: Final = "mapped.unreadable_field"
_TOKENS: Final = "mapped.unreadable_token_count"
_READERS: Final[dict[str, tuple[Callable[[Any], Any], str]]] = {
    "step_id": (values.text, _FIELD),
    "parent": (values.text, _FIELD),
    "trace_id": (values.text, _FIELD),
    "run_id": (values.text, _FIELD),
    "session_id": (values.text, _FIELD),
    "name": (values.text, _FIELD),
    "error_type": (values.text, _FIELD),
    "agent": (values.text, _FIELD),
    "model": (values.text, _FIELD),
    "tokens_prompt": (values.whole, _TOKENS),
    "tokens_completion": (values.whole, _TOKENS),
    "tokens_total": (values.whole, _TOKENS),
    "cost": (values.cost, "mapped.unreadable_cost"),
    "tool_call_id": (values.text, _FIELD),
    "args": (values.body, _FIELD),
    "result": (values.body, _FIELD),
    "docs": (values.count, _FIELD),
}
"""How a value is read that needs nothing but itself, and the gap code where it cannot be."""


class Outcome(Struct, gc=False):
    """Status of a step, what decided it, and what is recorded of its failure."""

    status: int = UNSET
    source: str | None = None
    error_type: str | None = None
    error_message: str | None = None
    signals: int = 0


class StepReader:
    """Reads the records of one file.

    Args:
        field_map: which column gives which field.
        unusable: hears of each value that cannot be used: field, gap code, place.
    """

    def __init__(self, field_map: FieldMap, unusable: Callable[[str, str, str], None]) -> None:
        self._map = field_map
        self._unusable = unusable

    def read(self, held: dict[str, Any], place: str) -> dict[str, Any]:
        """Return the values that are read each by itself, by field.

        Gap codes: ``mapped.unreadable_field``, ``mapped.unreadable_token_count``,
        ``mapped.unreadable_cost``.
        """
        found: dict[str, Any] = {}
        for name, value in held.items():
            plain = _READERS.get(name)
            if plain is not None:
                usable = plain[0](value)
                if usable is None:
                    self._unusable(name, plain[1], place)
                else:
                    found[name] = usable
        return found

    def causes(self, held: dict[str, Any], place: str) -> tuple[str, ...]:
        """Return the ids that a record names as causes.

        Gap code: ``mapped.unreadable_field``.
        """
        value = held.get("causes")
        if value is None:
            return ()
        named, lost = values.ids(value, self._map.separator)
        for _ in range(lost):
            self._unusable("causes", _FIELD, place)
        return tuple(dict.fromkeys(named))

    def time(self, name: str, held: dict[str, Any], place: str) -> int:
        """Return the start or the end in ns, -1 unknown.

        Gap code: ``mapped.unreadable_timestamp``.
        """
        value = held.get(name)
        if value is None:
            return UNKNOWN
        found = values.time(value, self._map.units.get(name))
        return self._or_unknown(found, name, "mapped.unreadable_timestamp", place)

    def duration(self, held: dict[str, Any], place: str) -> int:
        """Return the duration in ns, -1 unknown.

        Gap code: ``mapped.unreadable_duration``.
        """
        value = held.get("duration")
        if value is None:
            return UNKNOWN
        found = values.nanoseconds(value, self._map.units["duration"])
        return self._or_unknown(found, "duration", "mapped.unreadable_duration", place)

    def kind(self, held: dict[str, Any], place: str) -> int:
        """Return the kind.

        Gap code: ``mapped.unknown_kind``.
        """
        value = held.get("kind")
        if value is None:
            return self._map.default_kind
        kind = self._map.kinds.get(word_of(value) or "")
        if kind is None:
            self._unusable("kind", "mapped.unknown_kind", place)
        return kind or 0

    def outcome(
        self, held: dict[str, Any], error_type: str | None, payload: ToolPayload, place: str
    ) -> Outcome:
        """Return how the step ended.

        The recorded word stands. Without one a recorded error is an error; nothing else is.
        Gap codes: ``mapped.unknown_status``, ``mapped.unreadable_field``,
        ``mapped.status_contradicts_error``.
        """
        value, status = held.get("status"), None
        if value is not None:
            status = self._map.statuses.get(word_of(value) or "")
            if status is None:
                self._unusable("status", "mapped.unknown_status", place)
        message = self._message(held, place)
        outcome = Outcome(status or UNSET, "recorded" if status else None, error_type, message)
        evidence = (
            "error_message"
            if message is not None
            else "error_type"
            if error_type is not None
            else "result.isError"
            if payload.is_error
            else None
        )
        if evidence is not None and outcome.status == UNSET:
            outcome.status, outcome.source = ERROR, evidence
        elif outcome.status == OK and (message is not None or error_type is not None):
            name = "error_message" if message is not None else "error_type"
            self._unusable(name, "mapped.status_contradicts_error", place)
        if payload.is_error or payload.message_failed:
            outcome.signals = TOOL_ERROR
        return outcome

    def labels(self, record: Record) -> dict[str, str]:
        """Return the labels that a record gives its trace.

        Gap code: ``mapped.unreadable_field``.
        """
        found: dict[str, str] = {}
        for path in self._map.labels:
            value = self._map.value(path, record.values, record.document)
            usable = values.label(value)
            if usable is not None:
                found[path.name] = usable
            elif value is not None:
                self._unusable(f"labels.{path.name}", _FIELD, record.place)
        return found

    def rest(self, record: Record) -> str | None:
        """Return what is recorded beside the bodies, as JSON; None if nested too deeply."""
        bodies = {
            self._map.fields[name].text for name in ("args", "result") if name in self._map.fields
        }
        held = {key: item for key, item in record.values.items() if key not in bodies}
        try:
            return dump(held)
        except RecursionError:
            return None

    def _message(self, held: dict[str, Any], place: str) -> str | None:
        """Return the text of an error; false and what is empty say that there is none."""
        value = held.get("error_message")
        if value in (None, False, [], {}) or word_of(value) == "false":
            return None
        message = None if value is True else values.body(value)
        if message is None:
            self._unusable("error_message", _FIELD, place)
        return message

    def _or_unknown(self, found: int | None, name: str, code: str, place: str) -> int:
        if found is None:
            self._unusable(name, code, place)
            return UNKNOWN
        return found


def payload_of(found: dict[str, Any]) -> ToolPayload:
    """Return digests and sizes of what a step was given and gave back."""
    return read_payload(found.get("args"), found.get("result"), found.get("tool_call_id"))


def total_tokens(found: dict[str, Any]) -> int:
    """Return the recorded total, else the sum of both parts, -1 unknown."""
    if "tokens_total" in found:
        return int(found["tokens_total"])
    return total_of([found.get(part, UNKNOWN) for part in ("tokens_prompt", "tokens_completion")])

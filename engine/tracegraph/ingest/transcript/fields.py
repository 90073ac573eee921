"""The fields of a logged record: each is taken if it is what it should be, and disclosed if not."""

from collections.abc import Iterator, Mapping
from typing import Any

from tracegraph.ingest.attributes import LARGEST, whole_number
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.measures import finite_number
from tracegraph.ingest.nesting import is_too_deep
from tracegraph.ingest.times import parse_time
from tracegraph.model.codes import UNKNOWN


class Fields:
    """The fields of one record, of which those of a wrong type are disclosed.

    Gap code: ``<area>.unreadable_field``.

    Args:
        values: the record as decoded.
        place: names the record in messages.
        area: what gap codes start with.
        losses: where losses are disclosed.
    """

    def __init__(self, values: Mapping[str, Any], place: str, area: str, losses: Losses) -> None:
        self.values = values
        self._place = place
        self._area = area
        self._losses = losses

    def text(self, key: str) -> str | None:
        """Return a text; None where it is absent, null or blank."""
        value = self.values.get(key)
        if value is None or isinstance(value, str):
            return value if value and not value.isspace() else None
        self.refuse(key, "is no text")
        return None

    def id(self, key: str) -> str | None:
        """Return an id, a whole number as its digits; None where it is absent, null or blank."""
        value = self.values.get(key)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value) if abs(value) <= LARGEST else self.text(key)
        return self.text(key)

    def count(self, key: str) -> int:
        """Return a whole number of at least 0, -1 where it is absent."""
        value = self.values.get(key)
        if value is None:
            return UNKNOWN
        found = whole_number(value)
        if found is None:
            self.refuse(key, "is no count")
            return UNKNOWN
        return found

    def number(self, key: str) -> int | float | None:
        """Return a finite number, None where it is absent."""
        value = self.values.get(key)
        found = finite_number(value)
        if found is None and value is not None:
            self.refuse(key, "is no number")
        return found

    def time(self, key: str) -> int:
        """Return the nanoseconds of an ISO 8601 time, -1 where it is absent or blank."""
        text = self.text(key)
        if text is None:
            return UNKNOWN
        try:
            return parse_time(text)
        except ValueError:
            self.refuse(key, "is no time")
            return UNKNOWN

    def flag(self, key: str) -> bool | None:
        """Return a truth value, None where it is absent."""
        value = self.values.get(key)
        if value is None or isinstance(value, bool):
            return value
        self.refuse(key, "is neither true nor false")
        return None

    def inner(self, key: str) -> "Fields":
        """Return the fields of an object; no fields where it is absent."""
        value = self.values.get(key)
        if isinstance(value, dict):
            return Fields(value, f"{self._place}: {key}", self._area, self._losses)
        if value is not None:
            self.refuse(key, "is no object")
        return Fields({}, self._place, self._area, self._losses)

    def items(self, key: str) -> list[Any]:
        """Return the items of a list; none where it is absent."""
        value = self.values.get(key)
        if isinstance(value, list):
            return value
        if value is not None:
            self.refuse(key, "is no list")
        return []

    def records(self, key: str, noun: str) -> "Iterator[Fields]":
        """Yield the fields of the objects in a list; what is none of them is disclosed.

        Args:
            key: of the list.
            noun: what the objects are, for messages.
        """
        for item in self.items(key):
            if isinstance(item, dict):
                yield Fields(item, noun, self._area, self._losses)
            else:
                self.refuse(key, f"holds what is no {noun}")

    def content(self, key: str) -> Any:
        """Return a value of any type; None where it is nested too deeply to be read."""
        value = self.values.get(key)
        if is_too_deep(value):
            self.refuse(key, "is nested too deeply to be read")
            return None
        return value

    def refuse(self, key: str, why: str) -> None:
        """Disclose a field that cannot be used."""
        self._losses.add(f"{self._area}.unreadable_field", f"{self._place}: {key} {why}")

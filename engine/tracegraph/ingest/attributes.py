"""Attributes of a span, read by name under all the names that a fact goes by."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Self

import msgspec

from tracegraph.ingest.otlp.records import AnyValue, plain
from tracegraph.model.codes import UNKNOWN

_decode = msgspec.json.Decoder(AnyValue).decode
LARGEST = 2**63 - 1
"""Counts and times are stored in 64 bits."""


class Attributes:
    """Attributes whose values are Python values.

    Attributes:
        values: the values by name.
    """

    __slots__ = ("values",)

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values

    def get(self, key: str) -> Any:
        """Return a value, None where it is not recorded."""
        return self.values.get(key)

    def text(self, *keys: str) -> str | None:
        """Return the first of the values that is text and not blank; numbers count as text."""
        values = self.values
        for key in keys:
            if key in values:
                value = self.get(key)
                if isinstance(value, str):
                    if value and not value.isspace():
                        return value
                elif isinstance(value, int | float) and not isinstance(value, bool):
                    return str(value)
        return None

    def body(self, *keys: str) -> str | None:
        """Return the first recorded value as text, a structured one as JSON."""
        for key in keys:
            if key in self.values:
                value = self.get(key)
                if value is not None:
                    return value if isinstance(value, str) else dump(value)
        return None

    def plain(self) -> dict[str, Any]:
        """Return all attributes as Python values."""
        return {key: self.get(key) for key in self.values}

    def adding(self, texts: Mapping[str, str]) -> Self:
        """Return these attributes and some more, which are text."""
        return type(self)({**self.values, **texts})


class RawAttributes(Attributes):
    """Attributes whose values are undecoded OTLP/JSON; one is decoded when it is asked for."""

    __slots__ = ()

    def adding(self, texts: Mapping[str, str]) -> Self:
        """Return these attributes and some more, which are text."""
        raw = {k: msgspec.Raw(msgspec.json.encode({"stringValue": t})) for k, t in texts.items()}
        return type(self)({**self.values, **raw})

    def get(self, key: str) -> Any:
        """Return a value, None where it is not recorded or is no OTLP value."""
        raw = self.values.get(key)
        if raw is None:
            return None
        try:
            return plain(_decode(raw))
        except (msgspec.MsgspecError, RecursionError):
            return None

    def text(self, *keys: str) -> str | None:
        """Return what the base class does; most values are text, so that way is short."""
        for key in keys:
            raw = self.values.get(key)
            if raw is None:
                continue
            try:
                value = _decode(raw).stringValue
            except (msgspec.MsgspecError, RecursionError):
                continue
            if value is None:
                other = super().text(key)
                if other is not None:
                    return other
            elif value and not value.isspace():
                return value
        return None


def dump(value: Any) -> str:
    """Return JSON text, the same for the same value."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def text_of(value: Any) -> str | None:
    """Return a body as text: itself, or JSON; None where there is none."""
    return value if value is None or isinstance(value, str) else dump(value)


def whole_number(value: Any) -> int | None:
    """Read a count, however it was written: 25, "25", 25.0; None where it is none."""
    if isinstance(value, str):
        try:
            value = int(value)
        except ValueError:
            return None
    elif isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float):
        if not value.is_integer():
            return None
        value = int(value)
    return value if 0 <= value <= LARGEST else None


def total_of(counts: Sequence[int]) -> int:
    """Return the sum of counts; -1 where one of them is unknown, or it is larger than any count."""
    total = sum(counts)
    return total if min(counts) >= 0 and total <= LARGEST else UNKNOWN

"""Jaeger's JSON of spans as it is decoded, out of whatever holds them.

What the query service answers (``model/json`` of Jaeger) names the process of each span in a table
beside them; the documents of its Elasticsearch storage (``dbmodel``) hold the process themselves,
and may hold tags as members of an object whose keys have ``@`` for each dot.
"""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from tracegraph.ingest.losses import Losses
from tracegraph.ingest.spans.plain import records_of

AREA = "jaeger"
_Number = int | float | str | None
_TRUTH = {"true": True, "false": False}
_TYPES = {
    "string": str,
    "binary": str,
    "bool": bool,
    "boolean": bool,
    "int64": int,
    "int": int,
    "float64": int | float,
    "float": int | float,
}


class Reference(Struct, gc=False):
    """A reference to another span."""

    refType: str | None = None  # noqa: N815
    traceID: str | None = None  # noqa: N815
    spanID: str | None = None  # noqa: N815


class Tag(Struct):
    """A tag, or a field of a log; the storage writes its value as text."""

    key: str
    type: Any = None
    value: Any = None


class Log(Struct):
    """A log of a span: an event."""

    fields: list[Any] | None = None


class Process(Struct):
    """What a span ran in."""

    serviceName: str | None = None  # noqa: N815
    tags: list[Any] | None = None
    tag: dict[str, Any] | None = None


class Span(Struct):
    """A span; times are microseconds."""

    traceID: str | None = None  # noqa: N815
    spanID: str | None = None  # noqa: N815
    parentSpanID: str | None = None  # noqa: N815
    operationName: str | None = None  # noqa: N815
    references: list[Any] | None = None
    startTime: _Number = None  # noqa: N815
    duration: _Number = None
    tags: list[Any] | None = None
    tag: dict[str, Any] | None = None
    logs: list[Any] | None = None
    processID: str | None = None  # noqa: N815
    process: Any = None
    warnings: Any = None


class Found(Struct):
    """A span where it was found, as decoded, and the processes of the trace around it."""

    value: Any
    processes: Any = None


def spans_in(value: Any) -> Iterator[Found]:
    """Yield the spans of a decoded document."""
    held = value.get("data") if isinstance(value, dict) else value
    for item in held if isinstance(held, list) else [value]:
        if isinstance(item, dict) and isinstance(item.get("spans"), list):
            for span in item["spans"]:
                yield Found(span, item.get("processes"))
        elif isinstance(item, dict) and isinstance(item.get("_source"), dict):
            yield Found(item["_source"])
        else:
            yield Found(item)


def tags_of(
    listed: list[Any] | None, named: dict[str, Any] | None, place: str, losses: Losses
) -> dict[str, Any]:
    """Return tags as values by key.

    Gap codes: ``jaeger.unreadable_tag`` of one that cannot be used, or whose key has another value
    already (the last stays), ``jaeger.unreadable_field`` of a value that is not of the type beside
    it.

    Args:
        listed: the tags, each with key, type and value.
        named: the tags that the storage keeps as members of an object.
        place: names the span in messages.
        losses: where losses are disclosed.
    """
    values = {key.replace("@", "."): value for key, value in (named or {}).items()}
    for tag in records_of(Tag, listed, "tag", AREA, losses):
        value = _value(tag, place, losses)
        if values.get(tag.key, value) != value:
            losses.add("jaeger.unreadable_tag", f"{place}: {tag.key[:60]} has another value before")
        values[tag.key] = value
    return values


def _value(tag: Tag, place: str, losses: Losses) -> Any:
    value, expected = tag.value, _TYPES.get(str(tag.type).lower())
    if expected is None or value is None:
        return value
    if isinstance(value, str) and expected is not str:
        value = _of_text(value, expected)
    # True is an int to Python, and only to Python.
    if not isinstance(value, expected) or (isinstance(value, bool) and expected is not bool):
        losses.add("jaeger.unreadable_field", f"{place}: {tag.key[:60]} is no {tag.type}")
        return tag.value
    return value


def _of_text(text: str, expected: Any) -> Any:
    try:
        if expected is bool:
            return _TRUTH.get(text.lower(), text)
        return int(text) if expected is int else float(text)
    except ValueError:
        return text

"""A document of a Phoenix export -> its spans, whatever holds them.

A REST page (``data``), the traces of ``px trace get`` and ``px trace list`` (``spans``), a page of
traces that lists their spans, a DataFrame by records or by columns, spans of ``/spans/otlpv1``, or
a span alone. Lists are taken apart undecoded, so that one span is in memory at a time and one that
cannot be read costs itself.
"""

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from tracegraph.errors import InputError, StrictError
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.nesting import deep_nesting
from tracegraph.ingest.phoenix.records import Item, Span, frame_rows, from_frame, from_otlpv1
from tracegraph.ingest.salvage import read_record
from tracegraph.ingest.tolerant_json import decode_json

_LEVELS = 3
"""A page holds traces, they hold spans; nothing is nested deeper."""
_decode = msgspec.json.Decoder(Item).decode


class Documents:
    """The documents of one file.

    Attributes:
        losses: of what was read since somebody took them.
        annotations: of whole traces, by trace id.
    """

    def __init__(self, file: str, strict: bool) -> None:
        self.losses = Losses(file, strict)
        self.annotations: dict[str, list[Any]] = {}
        self._file = file
        self._strict = strict

    def spans(self, data: Any, where: str, level: int = 0) -> Iterator[Span | None]:
        """Yield the spans of a document in order, None for each that cannot be used.

        Gap code: ``phoenix.unreadable_field``, besides those of reading JSON tolerantly.

        Args:
            data: the document as bytes, or a decoded part of it.
            where: names it in messages.
            level: how many containers it lies in.

        Raises:
            InputError: it is no JSON.
            StrictError: strict, and something was lost.
        """
        span: Span | None
        try:
            item = _decode(data) if isinstance(data, bytes | msgspec.Raw) else None
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            item = None
        if item is not None and item.frame_id is None:
            held = item.data if item.spans is None else item.spans
            trace_id = item.traceId or item.trace_id
            annotations, span = item.annotations, item
        else:
            value = _taken_apart(data)
            value = self._decoded(data, where, level) if value is None else value
            if not isinstance(value, dict):
                yield None
                return
            held = _held(value)
            trace_id = self.part(value.get("traceId") or value.get("trace_id"), where)
            annotations = self.part(value.get("annotations"), where)
            span = self.span(value, where) if held is None else None
        if held is None or level == _LEVELS:
            yield span if held is None else None
            return
        trace_id = trace_id if isinstance(trace_id, str) else None
        if trace_id is not None and isinstance(annotations, list):
            self.annotations.setdefault(trace_id, []).extend(annotations)
        for number, part in enumerate(held, 1):
            for found in self.spans(part, f"{where}{', ' * bool(where)}item {number}", level + 1):
                if found is not None and found.trace_id is None:
                    found.trace_id = trace_id
                yield found

    def part(self, data: Any, where: str) -> Any:
        """Decode a part of a record; None where it cannot be decoded.

        Gap code: ``phoenix.unreadable_field``.
        """
        value = self._decoded(data, where, 1)
        if value is None and data:
            self.losses.add("phoenix.unreadable_field", f"{where}: cannot be decoded")
        return value

    def _decoded(self, data: Any, where: str, level: int) -> Any:
        """Decode a document or a part of one; None where it is a part that cannot be decoded."""
        if not isinstance(data, bytes | msgspec.Raw):
            return data
        place = f"{self._file}: {where}" if where else self._file
        losses = Losses(place, self._strict)
        try:
            return decode_json(data, place, losses)
        except StrictError:
            raise
        except InputError:
            if level == 0:
                raise
            return None
        finally:
            self.losses.counts.update(losses.counts)

    def span(self, value: dict[str, Any], where: str) -> Span | None:
        """Return a decoded span as far as its members are what they should be."""
        if "context.span_id" in value:
            value = from_frame(value)
        elif "start_time_unix_nano" in value:
            value = from_otlpv1(value)
        return read_record(Span, value, where, "phoenix", self.losses)


def _taken_apart(data: Any) -> dict[str, Any] | None:
    """Return a container that the strict decoder refuses with its parts undecoded.

    So each part is repaired, and what that costs disclosed, where it belongs.
    """
    if not isinstance(data, bytes | msgspec.Raw):
        return None
    try:
        with deep_nesting():
            value = json.loads(bytes(data).decode(errors="surrogateescape"))
            held = _held(value) if isinstance(value, dict) else None
            if held is None:
                return None
            names = value.keys() & {"traceId", "trace_id", "annotations"}
            parts = {name: json.dumps(value[name]).encode() for name in names}
            return parts | {"spans": [json.dumps(part).encode() for part in held]}
    except (ValueError, RecursionError):
        return None


def _held(value: dict[str, Any]) -> list[Any] | None:
    """Return what a container holds, None of a span."""
    if isinstance(value.get("context.span_id"), dict):
        return list(frame_rows(value))
    held = value.get("data") if value.get("spans") is None else value["spans"]
    return held if isinstance(held, list) else None

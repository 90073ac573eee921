"""The same export request in every encoding that OTLP is met in, written without our own code.

protobuf and its JSON mapping come from the libraries of OpenTelemetry and Google; what other
producers do differently is done to the JSON.
"""

import base64
import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

from google.protobuf import json_format
from google.protobuf.internal import encoder
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

Request = dict[str, Any]
_IDS = {"traceId", "spanId", "parentSpanId"}
_INT64 = {"startTimeUnixNano", "endTimeUnixNano", "timeUnixNano", "intValue"}
_MEMBERS = (
    *("stringValue", "intValue", "doubleValue", "boolValue"),
    *("arrayValue", "kvlistValue", "bytesValue"),
)


def mapped(value: Any, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    """Return a JSON value with every object in it changed, the inner ones first."""
    if isinstance(value, list):
        return [mapped(item, change) for item in value]
    if isinstance(value, dict):
        return change({key: mapped(item, change) for key, item in value.items()})
    return value


def with_ids(request: Request, encode: Callable[[str], str]) -> Request:
    """Return a request whose ids, hexadecimal before, are written otherwise."""
    changed: Request = mapped(
        request, lambda o: {k: encode(v) if k in _IDS and v else v for k, v in o.items()}
    )
    return changed


def base64_of_hex(text: str) -> str:
    return base64.b64encode(bytes.fromhex(text)).decode()


def message(request: Request) -> TracesData:
    """Return a request as the library's message."""
    made = TracesData()
    return json_format.ParseDict(with_ids(request, base64_of_hex), made)  # type: ignore[no-any-return]


def protobuf(request: Request) -> bytes:
    """Return a request as it is posted to ``/v1/traces``."""
    return bytes(message(request).SerializeToString())


def hex_json(found: TracesData) -> Request:
    """Return a message as OTLP/JSON."""
    made = json_format.MessageToDict(found, use_integers_for_enums=True)
    return with_ids(made, lambda text: base64.b64decode(text).hex())


def collector_frame(data: bytes) -> bytes:
    """Return a message as the Collector's file exporter writes it with ``format: proto``."""
    return len(data).to_bytes(4, "big") + data


def varint_frame(data: bytes) -> bytes:
    """Return a message as protobuf's own libraries delimit it in a stream."""
    return bytes(encoder._VarintBytes(len(data))) + data


def one_each(request: Request) -> Iterator[Request]:
    """Yield requests of one span each, in the same order."""
    for group in request["resourceSpans"]:
        for scope in group["scopeSpans"]:
            for span in scope["spans"]:
                yield {"resourceSpans": [{**group, "scopeSpans": [{**scope, "spans": [span]}]}]}


def _protojson(request: Request, **options: Any) -> bytes:
    return str(json_format.MessageToJson(message(request), **options)).encode()


def _numbers(request: Request, number: Callable[[Any], Any]) -> Request:
    changed: Request = mapped(
        request, lambda o: {k: number(v) if k in _INT64 else v for k, v in o.items()}
    )
    return changed


def _named(request: Request) -> Request:
    names = {0: "STATUS_CODE_UNSET", 1: "STATUS_CODE_OK", 2: "STATUS_CODE_ERROR"}

    def change(found: dict[str, Any]) -> dict[str, Any]:
        if found.get("code") in names:
            found["code"] = names[found["code"]]
        return found

    changed: Request = mapped(request, change)
    return changed


def _every_member(request: Request) -> Request:
    def change(found: dict[str, Any]) -> dict[str, Any]:
        if len(found) == 1 and next(iter(found)) in _MEMBERS:
            return dict.fromkeys(_MEMBERS) | found
        return found

    changed: Request = mapped(request, change)
    return changed


def _tempo(request: Request) -> Request:
    groups = copy.deepcopy(request["resourceSpans"])
    for group in groups:
        group["instrumentationLibrarySpans"] = group.pop("scopeSpans")
    return {"batches": groups}


def _spans(request: Request, **members: Any) -> Request:
    """Return a request whose spans have members that they lacked."""
    changed: Request = mapped(
        request, lambda o: members | o if "spanId" in o and "name" in o else o
    )
    return changed


def _whole_doubles(request: Request) -> Request:
    def change(found: dict[str, Any]) -> dict[str, Any]:
        value = found.get("doubleValue")
        if isinstance(value, float) and value.is_integer() and 0 < abs(value) < 2**53:
            found["doubleValue"] = int(value)
        return found

    changed: Request = mapped(request, change)
    return changed


def _lines(requests: Iterator[Request]) -> bytes:
    return b"".join(json.dumps(request).encode() + b"\n" for request in requests)


def _json(request: Request, **options: Any) -> bytes:
    return json.dumps(request, **options).encode()


ENCODINGS: dict[str, Callable[[Request], bytes]] = {
    "hex ids": _json,
    "upper-case ids": lambda r: _json(with_ids(r, str.upper)),
    "base64 ids": lambda r: _json(with_ids(r, base64_of_hex)),
    "ids with 0x": lambda r: _json(with_ids(r, lambda text: "0x" + text)),
    "characters as they are": lambda r: _json(r, ensure_ascii=False),
    "byte-order mark": lambda r: b"\xef\xbb\xbf" + _json(r),
    "pretty": lambda r: _json(r, indent=2),
    "pretty documents": lambda r: b"\n".join(_json(one, indent=2) for one in one_each(r)),
    "array of requests": lambda r: json.dumps(list(one_each(r))).encode(),
    "array of resources": lambda r: json.dumps(r["resourceSpans"]).encode(),
    "a request a line": lambda r: _lines(one_each(r)),
    "a resource a line": lambda r: _lines(one["resourceSpans"][0] for one in one_each(r)),
    "tempo": lambda r: _json(_tempo(r)),
    "enums by name": lambda r: _json(_named(r)),
    "integers as numbers": lambda r: _json(_numbers(r, int)),
    "integers as text": lambda r: _json(_numbers(r, str)),
    "doubles without a point": lambda r: _json(_whole_doubles(r)),
    "all members of a value": lambda r: _json(_every_member(r)),
    "empty root parent": lambda r: _json(_spans(r, parentSpanId="")),
    "null root parent": lambda r: _json(_spans(r, parentSpanId=None)),
    "zero root parent": lambda r: _json(_spans(r, parentSpanId="0" * 16)),
    "empty members": lambda r: _json(_spans(r, events=[], links=[], attributes=[], status={})),
    "null members": lambda r: _json(_spans(r, events=None, links=None, attributes=None)),
    "protobuf JSON": _protojson,
    "protobuf JSON in one line": lambda r: _protojson(r, indent=None),
    "protobuf JSON in snake_case": lambda r: _protojson(r, preserving_proto_field_name=True),
    "protobuf JSON with numbers for enums": lambda r: _protojson(r, use_integers_for_enums=True),
    "protobuf JSON with what is empty": lambda r: _protojson(
        r, always_print_fields_with_no_presence=True
    ),
    "protobuf": protobuf,
    "protobuf, a request a frame": lambda r: b"".join(
        collector_frame(protobuf(one)) for one in one_each(r)
    ),
    "protobuf, delimited": lambda r: b"".join(varint_frame(protobuf(one)) for one in one_each(r)),
}
"""Each takes an export request of OTLP/JSON with hexadecimal ids and keeps the order of spans."""

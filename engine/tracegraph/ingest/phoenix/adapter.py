"""What Phoenix (github.com/Arize-ai/phoenix) exports, and the database of its server.

Shapes: pages of the REST API (``/spans``, ``/spans/otlpv1``, ``/traces?include_spans=true``), their
spans as JSON Lines or arrays, ``px trace get`` and ``px trace list``, DataFrames of spans written
by records or by columns, ``phoenix.db``.
"""

import base64
import re
from collections.abc import Iterator, Sequence

from tracegraph.errors import UnknownFormatError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.json_lines import is_json_lines
from tracegraph.ingest.opening import opening_keys
from tracegraph.ingest.otlp.records import is_phoenix_dialect
from tracegraph.ingest.phoenix.database import is_phoenix_database
from tracegraph.ingest.phoenix.reader import PhoenixReader
from tracegraph.ingest.source import Source
from tracegraph.ingest.sqlite_file import is_sqlite
from tracegraph.model.draft import Draft

_SPAN = {"span_kind", "status_code", "start_time"}
_AROUND_SPANS = {"data", "spans", "traceId", "context"}
_HOLDERS = (b'"context"', b'"project_id"')
_OF_SDK = (b'"SpanKind.', b'"resource"', b'"links"')
"""What OpenTelemetry's own JSON of a span has besides."""
_ID = re.compile(rb'"id"\s*:\s*"([A-Za-z0-9+/]{8,}={0,2})"')
_EMPTY_PAGE = re.compile(rb'\s*\{\s*"data"\s*:\s*\[\s*\]\s*,\s*"next_cursor"\s*:\s*null\s*\}\s*')
_WITHOUT_SPANS = {
    "Project": "projects",
    "ProjectSession": "sessions",
    "ProjectSessionAnnotation": "annotations of sessions",
    "SpanAnnotation": "annotations of spans",
    "Trace": "traces without their spans",
    "TraceAnnotation": "annotations of traces",
}
"""Pages of the REST API by the type that their global ids name."""


class PhoenixAdapter:
    """Reads Phoenix's exports and its database."""

    name = "phoenix"
    version = 1
    unites = True

    def sniff(self, source: Source) -> bool:
        """Tell a database by its tables, JSON by the members of a span and what is around it."""
        if is_sqlite(source):
            return is_phoenix_database(source)
        head, keys = source.head, opening_keys(source)
        if not keys and not is_json_lines(source):
            return False
        if keys >= _SPAN or is_phoenix_dialect(head) or _lacks_spans(source) is not None:
            return True
        if keys and not keys & _AROUND_SPANS:
            return False
        if b'"span_id"' not in head or not any(holder in head for holder in _HOLDERS):
            return False
        is_openinference = b'"openinference.span.kind"' in head
        return b'"span_kind"' in head or (is_openinference and not any(m in head for m in _OF_SDK))

    def read(self, sources: Sequence[Source], options: ReadOptions) -> Iterator[Draft]:
        """Read traces; see :class:`tracegraph.ingest.adapter.Adapter`.

        Gap codes: those of :mod:`tracegraph.ingest.span_gaps` but for links, and
        ``phoenix.no_span_links``, ``phoenix.no_attributes``, ``phoenix.missing_field``,
        ``phoenix.cost_from_price_list``, ``phoenix.unreadable_field``,
        ``phoenix.unreadable_annotation``, ``phoenix.evaluations_left_out``.
        """
        reader = PhoenixReader(sources, options)
        for index, source in enumerate(sources):
            if is_sqlite(source):
                yield from reader.read_database(index)
                continue
            held = _lacks_spans(source)
            if held is not None:
                raise UnknownFormatError(
                    f"{source.name}: holds no spans, it is a Phoenix page of {held}; get them with "
                    "`px trace list --format raw` or from /v1/projects/PROJECT/spans"
                )
            reader.read_documents(index)
        yield from reader.finish()


def _lacks_spans(source: Source) -> str | None:
    """Return what a page of the REST API holds instead of spans, None where it is no such page."""
    head = source.head
    if "data" not in opening_keys(source) or b'"span_kind"' in head:
        return None
    if _EMPTY_PAGE.fullmatch(head):
        return "nothing"
    found = _ID.search(head)
    if found is None:
        return None
    kind, colon, _ = base64.b64decode(found[1] + b"==").partition(b":")
    return _WITHOUT_SPANS.get(kind.decode(errors="replace")) if colon else None

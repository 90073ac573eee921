"""Spans printed before they ended, which stand for themselves only where no end was printed.

Exporters that print when a span starts print it again when it ends. The earlier state is no other
record of the span: whoever keeps the ended one loses nothing.
"""

from tracegraph.ingest.spans.record import SpanRecord, absent


def is_earlier(snapshot: SpanRecord, ended: SpanRecord) -> bool:
    """Tell whether a span that has not ended may be the state of another before its end.

    Parent and start never change, links are added at the end of the list, and attributes may get
    other values but are not taken away.
    """
    return (
        snapshot.end < 0 <= ended.end
        and snapshot.parent == ended.parent
        and snapshot.start == ended.start
        and snapshot.links == ended.links[: len(snapshot.links)]
        and snapshot.fields.kind in (0, ended.fields.kind)
        and set(absent(ended.fields).split(",")) <= set(absent(snapshot.fields).split(","))
    )

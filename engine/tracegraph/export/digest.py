"""The digest of one artifact (contract ``digest``)."""

from typing import Any

from tracegraph.export.table import Report, Table
from tracegraph.model.trace import Trace


def digest_report(trace: Trace, label: str, digest: str) -> Report:
    """Report the digest of a trace's artifact."""
    item: dict[str, Any] = {
        "trace_id": trace.trace_id,
        "label": label,
        "artifact_digest": digest,
    }
    return Report(
        "digest",
        1,
        lambda: item,
        lambda: [item],
        lambda: Table(tuple(item), [tuple(item.values())]),
    )

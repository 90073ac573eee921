"""What the cache holds: contract ``cache``.

The only report that names absolute paths: it says which folders of this machine are kept.
"""

from collections.abc import Sequence

from tracegraph.corpus.cache import CacheEntry
from tracegraph.export.table import Report, Table


def cache_report(entries: Sequence[CacheEntry]) -> Report:
    """Report the corpora of the cache."""
    items = [
        {
            "paths": list(entry.roots),
            "keep": entry.keep,
            "trace_count": entry.traces,
            "step_count": entry.steps,
            "bytes": entry.size,
            "directory": str(entry.directory),
        }
        for entry in entries
    ]
    columns = ("paths", "keep", "trace_count", "step_count", "bytes", "directory")
    rows = [
        (" ".join(e.roots), *list(item.values())[1:])
        for e, item in zip(entries, items, strict=True)
    ]
    return Report(
        "cache", 1, lambda: {"corpora": items}, lambda: items, lambda: Table(columns, rows)
    )

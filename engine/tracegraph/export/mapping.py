"""What the mapping of home-made logs left: columns that no field takes, and unusable values."""

from typing import Any

from tracegraph.corpus.corpus import Corpus
from tracegraph.corpus.manifest import FileEntry
from tracegraph.export.text import counted
from tracegraph.ingest.mapped.remedies import REMEDIES
from tracegraph.model.unmapped import Unmapped


def mapping_items(corpus: Corpus) -> list[dict[str, Any]]:
    """Return what was left of each file that was read by a mapping, as members of a report."""
    return [
        {
            "file": entry.name,
            "unused_columns": list(left.columns),
            "more_unused_columns": left.more,
            "unusable_values": [
                {
                    "field": value.field,
                    "column": value.column,
                    "code": value.code,
                    "count": value.count,
                    "place": value.place,
                }
                for value in left.values
            ],
        }
        for entry, left in _mapped(corpus)
    ]


def mapping_rows(corpus: Corpus) -> list[tuple[str, str, str]]:
    """Return the same as rows of a table."""
    rows: list[tuple[str, str, str]] = []
    for entry, left in _mapped(corpus):
        rows += [("column not used", name, entry.name) for name in left.columns]
        if left.more:
            rows.append(("column not used", "and more", entry.name))
        for value in left.values:
            where = f": {counted(value.count, 'value')}, first in {value.place}" * bool(value.place)
            remedy = f"; {REMEDIES[value.code]}" if value.code in REMEDIES else ""
            said = f"{entry.name}: {value.code}{where}{remedy}"
            rows.append(("not mapped", f"{value.field} = {value.column}", said))
    return rows


def _mapped(corpus: Corpus) -> list[tuple[FileEntry, Unmapped]]:
    return [(entry, entry.unmapped) for entry in corpus.files if entry.unmapped is not None]

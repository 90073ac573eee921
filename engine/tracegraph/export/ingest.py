"""What was read and what was not, in all and by format: contract ``ingest``."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tracegraph.corpus.corpus import Corpus
from tracegraph.export.mapping import mapping_items, mapping_rows
from tracegraph.export.table import Report, Table
from tracegraph.export.text import counted
from tracegraph.export.traces import Totals, gap_items


@dataclass(frozen=True, slots=True)
class FormatTotals:
    """What the files of one format hold.

    Attributes:
        name: name of the adapter that reads it.
        files: files that were read.
        opened: those of them that were looked into now, those that were skipped included.
        skipped: files of the format that hold no readable trace.
        totals: traces, steps and failing steps.
    """

    name: str
    files: int
    opened: int
    skipped: int
    totals: Totals


def ingest_report(corpus: Corpus, totals: Totals, formats: Sequence[FormatTotals]) -> Report:
    """Report what a corpus was made of.

    Args:
        corpus: the corpus.
        totals: of all its traces.
        formats: the same by format, by name.
    """
    met = [entry for entry in corpus.manifest.files if entry.path or not entry.skipped]
    opened = sum(entry.name in corpus.opened for entry in met)
    skipped = [entry for entry in corpus.manifest.files if entry.skipped]
    mapped = mapping_items(corpus)

    def members() -> dict[str, Any]:
        return {
            "file_count": len(corpus.files),
            "opened_count": opened,
            "unchanged_count": len(met) - opened,
            **_counts(totals),
            "formats": [
                {
                    "format": each.name,
                    "file_count": each.files,
                    "opened_count": each.opened,
                    "skipped_count": each.skipped,
                    **_counts(each.totals),
                }
                for each in formats
            ],
            "skipped": [
                {"file": entry.name, "reason": entry.skipped, "format": entry.adapter or None}
                for entry in skipped
            ],
            "gaps": gap_items(corpus.gaps),
            **({"mapped": mapped} if mapped else {}),
        }

    def table() -> Table:
        rows: list[tuple[str, str, str]] = [
            ("read", "files", str(len(corpus.files))),
            ("read", "traces", str(totals.traces)),
            ("read", "steps", str(totals.steps)),
            ("read", "failing steps", str(totals.errors)),
            ("files", "opened now", str(opened)),
            ("files", "unchanged", str(len(met) - opened)),
        ]
        rows += [("format", each.name, _words(each)) for each in formats]
        rows += [("gap", code, str(count)) for code, count in corpus.gaps.items()]
        rows += mapping_rows(corpus)
        rows += [("skipped", entry.name, entry.skipped) for entry in skipped]
        return Table(("what", "name", "value"), rows)

    return Report("ingest", 1, members, lambda: [members()], table)


def _counts(totals: Totals) -> dict[str, int]:
    return {
        "trace_count": totals.traces,
        "step_count": totals.steps,
        "error_count": totals.errors,
    }


def _words(each: FormatTotals) -> str:
    totals = each.totals
    parts = [
        counted(each.files, "file"),
        counted(totals.traces, "trace"),
        counted(totals.steps, "step"),
        f"{totals.errors} failing",
    ]
    return ", ".join(parts + ([f"{each.skipped} skipped"] if each.skipped else []))

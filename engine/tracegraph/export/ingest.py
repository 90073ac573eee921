"""What was read and what was not: contract ``ingest``."""

from typing import Any

from tracegraph.corpus.corpus import Corpus
from tracegraph.export.table import Report, Table
from tracegraph.export.traces import Totals, gap_items


def ingest_report(corpus: Corpus, totals: Totals) -> Report:
    """Report what a corpus was made of."""
    skipped = [{"file": file.name, "reason": file.reason} for file in corpus.skipped]

    def members() -> dict[str, Any]:
        return {
            "file_count": len(corpus.files),
            "trace_count": totals.traces,
            "step_count": totals.steps,
            "error_count": totals.errors,
            "skipped": skipped,
            "gaps": gap_items(corpus.gaps),
        }

    def table() -> Table:
        rows: list[tuple[str, str, str]] = [
            ("read", "files", str(len(corpus.files))),
            ("read", "traces", str(totals.traces)),
            ("read", "steps", str(totals.steps)),
            ("read", "failing steps", str(totals.errors)),
        ]
        rows += [("gap", code, str(count)) for code, count in corpus.gaps.items()]
        rows += [("skipped", file.name, file.reason) for file in corpus.skipped]
        return Table(("what", "name", "value"), rows)

    return Report("ingest", 1, members, lambda: [members()], table)

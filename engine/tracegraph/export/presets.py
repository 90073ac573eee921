"""The preset library: contracts ``presets``, ``preset``, ``presets-lint`` and ``presets-test``."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tracegraph.export.table import Report, Table
from tracegraph.pattern.ast import Pattern
from tracegraph.pattern.printer import digest, print_pattern, print_value

Outcome = Literal["pass", "fail", "refused"]


@dataclass(frozen=True, slots=True)
class LintedFile:
    """Whether a pattern file can be loaded.

    Attributes:
        file: its name.
        patterns: ``id@version`` of each pattern that loads.
        errors: (line, column, message) of what is wrong; line and column 0 without a place.
    """

    file: str
    patterns: tuple[str, ...]
    errors: tuple[tuple[int, int, str], ...]


@dataclass(frozen=True, slots=True)
class Tried:
    """One example of a preset on one backend.

    Attributes:
        preset: ``id@version``.
        example: name of the example's file.
        backend: the backend that was asked.
        expected: what the name of the example promises.
        match_count: confirmed matches; None where the backend refuses the pattern.
        outcome: ``refused`` where the backend cannot answer the pattern exactly.
    """

    preset: str
    example: str
    backend: str
    expected: Literal["match", "no-match"]
    match_count: int | None
    outcome: Outcome


def presets_report(patterns: Sequence[Pattern]) -> Report:
    """Report a list of presets."""
    columns = ("preset", "severity", "confidence", "export", "title")

    def table() -> Table:
        rows = (
            (f"{p.id}@{p.version}", p.severity, p.confidence, p.export, p.title) for p in patterns
        )
        return Table(columns, rows)

    return Report(
        "presets",
        1,
        lambda: {"presets": map(_preset_item, patterns)},
        lambda: map(_preset_item, patterns),
        table,
    )


def preset_report(pattern: Pattern) -> Report:
    """Report one preset with its text."""
    item = {**_preset_item(pattern), "text": print_pattern(pattern)}
    return Report(
        "preset", 1, lambda: item, lambda: [item], lambda: Table(tuple(item), [[*item.values()]])
    )


def lint_report(files: Sequence[LintedFile]) -> Report:
    """Report which files load."""
    items = [
        {
            "file": f.file,
            "patterns": list(f.patterns),
            "errors": [{"line": n, "column": c, "message": text} for n, c, text in f.errors],
        }
        for f in files
    ]

    def table() -> Table:
        rows: list[Sequence[Any]] = []
        for f in files:
            rows += [(f.file, name, None, None, "ok") for name in f.patterns]
            rows += [(f.file, None, line, column, text) for line, column, text in f.errors]
        return Table(("file", "pattern", "line", "column", "result"), rows)

    return Report("presets-lint", 1, lambda: {"files": items}, lambda: items, table)


def tried_report(tried: Sequence[Tried]) -> Report:
    """Report which examples hold."""
    columns = ("preset", "example", "backend", "expected", "match_count", "outcome")
    rows = [tuple(getattr(each, name) for name in columns) for each in tried]
    items: Iterable[dict[str, Any]] = [dict(zip(columns, row, strict=True)) for row in rows]
    failures = sum(each.outcome == "fail" for each in tried)
    return Report(
        "presets-test",
        1,
        lambda: {"examples": items, "failures": failures},
        lambda: items,
        lambda: Table(columns, rows),
    )


def _preset_item(pattern: Pattern) -> dict[str, Any]:
    return {
        "id": pattern.id,
        "version": pattern.version,
        "title": pattern.title,
        "severity": pattern.severity,
        "confidence": pattern.confidence,
        "export": pattern.export,
        "scope": pattern.scope,
        "tags": list(pattern.tags),
        "needs": list(pattern.needs),
        "params": {name: print_value(value) for name, value in pattern.params},
        "digest": digest(pattern),
    }

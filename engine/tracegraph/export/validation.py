"""Which artifacts hold their contract (contract ``validation``).

A local answer: what is wrong is quoted as it stands in the file.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tracegraph.export.table import Report, Table
from tracegraph.export.text import counted, visible


@dataclass(frozen=True, slots=True)
class Found:
    """Something wrong in a file.

    Attributes:
        place: which document of several, as in ``line 3``; empty where it is the only one.
        path: the field.
        text: what is wrong with it.
    """

    place: str
    path: str
    text: str

    def __str__(self) -> str:
        return ": ".join(part for part in (self.place, self.path, self.text) if part)


@dataclass(frozen=True, slots=True)
class ValidatedFile:
    """A file and what is wrong with it.

    Attributes:
        file: its name.
        format: ``artifact`` or ``peer_artifact``; None where it is neither.
        documents: artifacts in it.
        problem_count: how much is wrong.
        problems: the first of it.
    """

    file: str
    format: str | None
    documents: int
    problem_count: int
    problems: tuple[Found, ...]


@dataclass(frozen=True, slots=True)
class Validation:
    """What came of validating.

    Attributes:
        files: the artifacts that were checked, by name.
        passed: name and reason of files in folders that are no artifacts.
    """

    files: Sequence[ValidatedFile]
    passed: Sequence[tuple[str, str]]

    @property
    def invalid_count(self) -> int:
        """Number of files with something wrong in them."""
        return sum(bool(file.problem_count) for file in self.files)


def validation_report(validation: Validation) -> Report:
    """Report what is wrong with artifacts."""

    def members() -> dict[str, Any]:
        return {
            "file_count": len(validation.files),
            "invalid_count": validation.invalid_count,
            "files": map(_item, validation.files),
            "passed": [{"file": file, "reason": reason} for file, reason in validation.passed],
        }

    def table() -> Table:
        columns = ("file", "format", "documents", "valid", "problems", "first_problem")
        return Table(columns, map(_row, validation.files))

    return Report("validation", 1, members, lambda: map(_item, validation.files), table)


def validation_lines(validation: Validation) -> Iterator[str]:
    """Yield one line a file."""
    return (visible(_line(file)) + "\n" for file in validation.files)


def _line(file: ValidatedFile) -> str:
    if not file.problem_count:
        return f"valid    {file.file}: {counted(file.documents, 'trace')} ({file.format})"
    more = file.problem_count - 1
    rest = f" (and {counted(more, 'more problem')})" if more else ""
    return f"INVALID  {file.file}: {file.problems[0]}{rest}"


def _item(file: ValidatedFile) -> dict[str, Any]:
    return {
        "file": file.file,
        "format": file.format,
        "documents": file.documents,
        "valid": not file.problem_count,
        "problem_count": file.problem_count,
        "problems": [
            {"place": each.place or None, "path": each.path, "text": each.text}
            for each in file.problems
        ],
    }


def _row(file: ValidatedFile) -> tuple[Any, ...]:
    first = str(file.problems[0]) if file.problems else None
    return file.file, file.format, file.documents, not first, file.problem_count, first

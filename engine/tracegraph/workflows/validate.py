"""Do artifacts hold their contract?"""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from tracegraph.analysis.artifact_check import check
from tracegraph.errors import InputError, UnknownFormatError, UsageError
from tracegraph.export.validation import Found, ValidatedFile, Validation
from tracegraph.ingest.discover import InputFile, discover
from tracegraph.ingest.documents import documents
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.reader import file_losses
from tracegraph.ingest.registry import detect
from tracegraph.ingest.source import Source, record_limit

MOST = 50
"""Problems of a file that are kept; all are counted."""
_OURS, _PEER = "artifact", "peer_artifact"


def validate(paths: Sequence[str]) -> tuple[Validation, list[Path]]:
    """Check every artifact that PATHS hold, one after the other; also return the files.

    What is no artifact is invalid where it was named, and passed over in a folder.

    Raises:
        InputError: a file that was named cannot be read.
        UsageError: a corpus was named, or there is no artifact at all.
    """
    found = discover(paths)
    if found.corpora:
        raise UsageError(f"{found.corpora[0]}: is a corpus, no artifact")
    files: list[ValidatedFile] = []
    passed = [(item.name, item.reason) for item in found.passed]
    for file in found.files:
        try:
            files.append(_validated(file))
        except (UnknownFormatError, _OtherFormatError) as error:
            passed.append((file.name, _without_name(error, file.name)))
        except InputError as error:
            if file.named:
                raise
            passed.append((file.name, _without_name(error, file.name)))
    if not files:
        raise UsageError(f"{', '.join(paths)}: holds no artifact")
    read = [file.path for file in found.files if file.path is not None]
    return Validation(files, sorted(passed)), read


class _OtherFormatError(InputError):
    """A file that holds traces and is no artifact."""


def _validated(file: InputFile) -> ValidatedFile:
    source = _open(file)
    try:
        name = _format(source)
    except (UnknownFormatError, _OtherFormatError) as error:
        if not file.named:
            raise
        problem = Found("", "", _without_name(error, file.name))
        return ValidatedFile(file.name, None, 0, 1, (problem,))
    counts: Counter[str] = Counter()
    problems = _problems(source, name == _PEER, counts)
    first = tuple(islice(problems, MOST))
    total = len(first) + sum(1 for _ in problems)
    return ValidatedFile(file.name, name, counts["documents"], total, first)


def _open(file: InputFile) -> Source:
    if file.path is None:
        return Source(file.name, sys.stdin.buffer.read(), record_limit())
    if file.stream:
        return Source(file.name, file.path.read_bytes(), record_limit())
    return Source.open(file.path, file.name, record_limit())


def _format(source: Source) -> str:
    """Return which kind of artifact a file holds.

    Raises:
        UnknownFormatError: nothing that is known.
        _OtherFormatError: traces in another format.
    """
    try:
        name = detect(source).name
    except UnknownFormatError:
        what = "no artifact" if source.head.strip() else "the file is empty"
        raise UnknownFormatError(f"{source.name}: {what}") from None
    if name not in {_OURS, _PEER}:
        raise _OtherFormatError(
            f"{source.name}: no artifact: holds {name}, of which tracegraph ingest -o makes one"
        )
    return name


def _problems(source: Source, is_peer: bool, counts: Counter[str]) -> Iterator[Found]:
    """Yield what is wrong in the documents of a file, and count those."""
    outside = Losses(source.name, strict=False)
    try:
        outside.counts.update(file_losses(source, strict=False))
        for place, data in documents(source, outside):
            counts["documents"] += 1
            where = place.removeprefix(source.name).lstrip(": ")
            for problem in check(data, source, is_peer=is_peer):
                yield Found(where, problem.path, problem.text)
    except InputError as error:
        yield Found("", "", _without_name(error, source.name))
    for code in outside.counts:
        yield Found("", "", f"{code} {outside.counts[code]}")
    if not counts["documents"]:
        yield Found("", "", "holds no artifact")


def _without_name(error: InputError, name: str) -> str:
    return str(error).removeprefix(name).lstrip(": ")

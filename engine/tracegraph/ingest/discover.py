"""PATHS -> files: what people named, and what lies in the folders they named.

Folders are read recursively, in the order of names. What is hidden (a name that starts with a dot),
linked folders, corpora and anything that is no regular file are passed over and disclosed. The
files that SQLite keeps beside a database are no files of their own: who reads it reads them.
"""

import glob
import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from tracegraph.errors import InputError, system_reason
from tracegraph.ingest.companions import SUFFIXES, is_database

STDIN = "-"
STDIN_NAME = "stdin"
CORPUS_FILE = "corpus.json"
_CORPUS_MARK = b'"tracegraph.corpus"'
_HEAD = 256


@dataclass(frozen=True, slots=True)
class InputFile:
    r"""A file to read.

    Attributes:
        name: how people know it: relative to what they named, ``/`` between folders; bytes that
            are no text are written ``\xff``, so a name can always be stored and shown.
        root: what was named and led to it, as an absolute path or glob; ``-`` for standard input.
        path: where it lies, absolute, links resolved; None for standard input.
        named: named itself, so that it must be readable; else met in a folder.
        stream: can be read once only (standard input, a pipe).
    """

    name: str
    root: str
    path: Path | None
    named: bool
    stream: bool = False


@dataclass(frozen=True, slots=True)
class Passed:
    """Something met in a folder that is not read, and why.

    Attributes:
        name: how people know it.
        root: what was named and led to it.
        path: where it lies.
        reason: why it is not read.
        lost: it could not be read, although it may hold traces.
    """

    name: str
    root: str
    path: Path
    reason: str
    lost: bool = False


@dataclass(frozen=True, slots=True)
class Discovery:
    """What PATHS lead to.

    Attributes:
        given: what was named, as it was named.
        roots: the same as absolute paths or globs, sorted.
        files: the files to read, by name.
        passed: what was met and is not read, by name.
        corpora: corpus directories among PATHS.
    """

    given: tuple[str, ...]
    roots: tuple[str, ...]
    files: tuple[InputFile, ...]
    passed: tuple[Passed, ...]
    corpora: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class _Found:
    """A file before it has a name: ``parts`` are the folders from its root down, and itself."""

    base: Path
    parts: tuple[str, ...]
    root: str
    path: Path
    named: bool
    stream: bool = False


def discover(paths: Sequence[str | os.PathLike[str]], ignore: Path | None = None) -> Discovery:
    """Find the files that PATHS stand for; ``ignore`` is a folder that is passed over unsaid.

    Raises:
        InputError: something named does not exist, cannot be read, or holds nothing to read.
    """
    found: dict[Path, _Found] = {}
    passed: list[Passed] = []
    corpora: dict[Path, None] = {}
    roots: set[str] = set()
    uses_stdin = False
    ignore = ignore and _real(ignore)
    for given in (os.fspath(path) for path in paths):
        if given == STDIN:
            uses_stdin = True
            continue
        if not given:
            raise InputError("an empty path: name a file, a folder, or . for the folder you are in")
        path = Path(given)
        if not os.path.lexists(path) and glob.has_magic(given):
            root, items = os.path.abspath(given), _globbed(given)
        elif is_corpus(path):
            corpora[_real(path)] = None
            continue
        else:
            root, items = str(_real(path)), _named(path, given)
        roots.add(root)
        for item in items:
            if isinstance(item, Passed):
                if item.path != ignore:
                    passed.append(item)
            elif item.path not in found or item.named:
                found[item.path] = item
    for part in [path for path, item in found.items() if _is_companion(item, found)]:
        del found[part]
    files = [
        InputFile(name, f.root, f.path, f.named, f.stream)
        for f, name in zip(found.values(), _names(list(found.values())), strict=True)
    ]
    if uses_stdin:
        roots.add(STDIN)
        files.append(InputFile(STDIN_NAME, STDIN, None, named=True, stream=True))
    return Discovery(
        tuple(os.fspath(path) for path in paths),
        tuple(sorted(roots)),
        tuple(sorted(files, key=lambda f: f.name)),
        tuple(sorted(set(passed), key=lambda p: (p.name, p.reason))),
        tuple(corpora),
    )


def is_corpus(path: Path) -> bool:
    """Tell whether a path is a corpus directory, be it a damaged one."""
    try:
        with (path / CORPUS_FILE).open("rb") as file:
            return _CORPUS_MARK in file.read(_HEAD) or (path / "segments").is_dir()
    except OSError:
        return False


def _named(path: Path, given: str) -> Iterator[_Found | Passed]:
    try:
        mode = path.stat().st_mode
    except OSError as error:
        hint = ""
        place, _, wanted = given.rpartition("#")
        if place and os.path.lexists(place):
            hint = "; PATH#ID names one trace only where a command takes TRACE"
        if hint and wanted.startswith("session="):
            asked = wanted.removeprefix("session=")
            hint += f'; a pattern asks for a session: where trace.session_id == "{asked}"'
        raise InputError(f"{given}: cannot be read: {system_reason(error)}{hint}") from None
    real = _real(path)
    if stat.S_ISBLK(mode) or (stat.S_ISCHR(mode) and _is_endless(path)):
        raise InputError(f"{given}: is a device, which may never end; name a file or a folder")
    if stat.S_ISDIR(mode):
        try:
            os.scandir(path).close()
        except OSError as error:
            raise InputError(f"{given}: cannot be read: {system_reason(error)}") from None
        yield from _walk(real, real, (), str(real))
    else:
        base = Path(os.path.abspath(path)).parent
        stream = not stat.S_ISREG(mode)
        # The link to a pipe, as /dev/stdin and /dev/fd/63 are, leads to no name to open it by.
        opened = Path(os.path.abspath(path)) if stream else real
        yield _Found(base, (path.name,), str(real), opened, named=True, stream=stream)


def _globbed(given: str) -> Iterator[_Found | Passed]:
    hits = sorted(glob.glob(given, recursive=True))
    if not hits:
        raise InputError(f"{given}: no file matches")
    root = os.path.abspath(given)
    fixed = _before_magic(Path(given).parts)
    base = Path(os.path.abspath(Path(*fixed)))
    for hit in map(Path, hits):
        parts = hit.parts[len(fixed) :]
        if hit.is_dir():
            yield from _walk(base, hit.resolve(), parts, root)
        else:
            yield _linked(base, hit, parts, root)


def _is_companion(item: _Found, found: Mapping[Path, _Found]) -> bool:
    """Tell a file that belongs to a database that was found too."""
    if not item.parts[-1].endswith(SUFFIXES):
        return False
    database = item.path.parent / item.path.name.rpartition("-")[0]
    return database in found and is_database(database)


def _real(path: Path) -> Path:
    """Return a path without links, as far as it leads: a circle of links is left as it is."""
    return Path(os.path.realpath(path))


def _is_endless(device: Path) -> bool:
    """Tell whether a character device is neither a terminal nor the one without any content."""
    if device.samefile(os.devnull):
        return False
    try:
        with device.open("rb") as file:
            return not file.isatty()
    except OSError:
        return False  # reading it says why it cannot be read


def _before_magic(parts: Iterable[str]) -> list[str]:
    return list(takewhile(lambda part: not glob.has_magic(part), parts))


def _walk(base: Path, folder: Path, parts: tuple[str, ...], root: str) -> Iterator[_Found | Passed]:
    """Yield what lies in a folder, given without links in its path, and below it."""
    name = _shown(parts)
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError as error:
        reason = f"the folder cannot be read: {system_reason(error)}"
        yield Passed(name, root, folder, reason, lost=True)
        return
    for entry in entries:
        path, below = Path(entry.path), (*parts, entry.name)
        shown = _shown(below)
        if entry.name.startswith("."):
            yield Passed(shown, root, path, "hidden; name it to read it")
        elif not _is_folder(entry):
            plain = entry.is_file(follow_symlinks=False)  # known without a look at the file
            yield (
                _Found(base, below, root, path, False)
                if plain
                else _linked(base, path, below, root)
            )
        elif entry.is_symlink():
            yield Passed(shown, root, path, "a link to a folder; name it to read it")
        elif is_corpus(path):
            yield Passed(shown, root, path, "a corpus; name it to read it")
        else:
            yield from _walk(base, path, below, root)


def _linked(base: Path, path: Path, parts: tuple[str, ...], root: str) -> _Found | Passed:
    """Return what a name stands for that is no folder: a file, or a reason not to read it."""
    name = _shown(parts)
    try:
        mode = path.stat().st_mode
    except OSError as error:
        return Passed(name, root, path, f"cannot be read: {system_reason(error)}", lost=True)
    if stat.S_ISREG(mode):
        return _Found(base, parts, root, _real(path), named=False)
    return Passed(name, root, path, "not a regular file")


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a circle of links
        return False


def _names(found: Sequence[_Found]) -> list[str]:
    """Name files so that no two share a name.

    Where two would, both get as many folders above what was named in front as tell them apart.
    """
    above = [0] * len(found)
    for _ in range(max((len(f.base.parts) for f in found), default=0)):
        names = _with_folders(found, above)
        count = Counter(names)
        if len(count) == len(names):
            return names
        above = [n + (count[name] > 1) for n, name in zip(above, names, strict=True)]
    return _with_folders(found, above)


def _with_folders(found: Sequence[_Found], above: Sequence[int]) -> list[str]:
    return [_shown((*_tail(f.base, n), *f.parts)) for f, n in zip(found, above, strict=True)]


def _shown(parts: Sequence[str]) -> str:
    r"""Join the parts of a name; bytes that are no text in the file system become ``\xff``."""
    name = "/".join(parts)
    return name if name.isascii() else os.fsencode(name).decode("utf-8", "backslashreplace")


def _tail(folder: Path, count: int) -> tuple[str, ...]:
    return folder.parts[1:][-count:] if count else ()

"""Keep the preset library sound: files, examples and ``presets.lock`` have to agree.

The lock holds the digest of every ``id@version``. A changed meaning needs a raised version, or
old reports would name a pattern that they were not made with. The lock is written anew by
``python -m tracegraph.pattern.preset_lock presets``.
"""

import os
import sys
from importlib.resources.abc import Traversable
from pathlib import Path

import msgspec

from tracegraph.errors import PatternError
from tracegraph.pattern.parsed import Parsed
from tracegraph.pattern.parser import parse_file
from tracegraph.pattern.presets import LOCK, Locked, read_lock
from tracegraph.pattern.printer import digest
from tracegraph.pattern.validator import validate_file
from tracegraph.resources import data_root


def lint_presets(root: Traversable | None = None) -> list[str]:
    """Return what is wrong in a folder of presets, one line each; empty if all is well.

    Args:
        root: folder with ``<id>.tgp``, ``<id>.examples/`` and ``presets.lock``; None for the
            shipped one.
    """
    root = root or data_root("presets")
    try:
        locked = read_lock(root)
    except PatternError as error:
        return [str(error)]
    problems: list[str] = []
    found: dict[str, Locked] = {}
    for name in _pattern_files(root):
        try:
            file = _load(root, name)
        except PatternError as error:
            problems.append(str(error))
            continue
        problems += _lint_file(root, name, file)
        found |= _entries(file)
    problems += _changed(locked, found)
    for key, entry in found.items():
        if key not in locked:
            problems.append(f"{LOCK}: '{key}' is missing; {_REWRITE}")
        elif locked[key].digest == entry.digest and locked[key] != entry:
            problems.append(f"{LOCK}: '{key}' is out of date; {_REWRITE}")
    for key in locked:
        if key not in found and locked[key].pattern is not None:
            problems.append(f"{LOCK}: '{key}' is in no file any more; {_REWRITE}")
    return problems


_REWRITE = "write it anew: python -m tracegraph.pattern.preset_lock FOLDER"


def write_lock(folder: Path) -> None:
    """Write ``presets.lock`` of a folder anew from its ``.tgp`` files.

    Raises:
        PatternError: a file does not load, or a meaning changed under the same version.
    """
    locked = read_lock(folder)
    found: dict[str, Locked] = {}
    for name in _pattern_files(folder):
        found |= _entries(_load(folder, name))
    if changed := _changed(locked, found):
        raise PatternError("; ".join(changed))
    retired = {key: Locked(entry.digest, None) for key, entry in locked.items()}
    entries = sorted({**retired, **found}.items())
    lines = [msgspec.json.encode(key) + b": " + msgspec.json.encode(it) for key, it in entries]
    unfinished = folder / f"{LOCK}.new"
    unfinished.write_bytes(b"{\n" + b",\n".join(lines) + b"\n}\n")  # a preset a line, for diffs
    os.replace(unfinished, folder / LOCK)


def _pattern_files(root: Traversable) -> list[str]:
    return sorted(entry.name for entry in root.iterdir() if entry.name.endswith(".tgp"))


def _load(root: Traversable, name: str) -> tuple[Parsed, ...]:
    file = parse_file(root.joinpath(name).read_text(encoding="utf-8"), name)
    validate_file(file)
    return file


def _entries(file: tuple[Parsed, ...]) -> dict[str, Locked]:
    patterns = [parsed.pattern for parsed in file]
    return {f"{each.id}@{each.version}": Locked(digest(each), each) for each in patterns}


def _changed(locked: dict[str, Locked], found: dict[str, Locked]) -> list[str]:
    return [
        f"'{key}' means something else than when it was locked: raise its version"
        for key, entry in found.items()
        if key in locked and locked[key].digest != entry.digest
    ]


def _lint_file(root: Traversable, name: str, file: tuple[Parsed, ...]) -> list[str]:
    problems = []
    wanted = name.removesuffix(".tgp")
    for parsed in file:
        if parsed.pattern.id != wanted:
            problems.append(str(parsed.error(f"expected '{wanted}', the name of the file", "id")))
        if not parsed.pattern.title:
            problems.append(str(parsed.error("a shipped preset needs a title", "id")))
    examples = root.joinpath(f"{wanted}.examples")
    names = [entry.name for entry in examples.iterdir()] if examples.is_dir() else []
    for prefix in ("match-", "no-match-"):
        if not any(each.startswith(prefix) and each.endswith(".json") for each in names):
            problems.append(f"{name}: no example {wanted}.examples/{prefix}*.json")
    return problems


if __name__ == "__main__":
    try:
        write_lock(Path(sys.argv[1]))
    except (IndexError, OSError, PatternError) as error:
        sys.exit(f"usage: python -m tracegraph.pattern.preset_lock FOLDER; {error}")

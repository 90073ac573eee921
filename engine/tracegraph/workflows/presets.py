"""The preset library and people's own: lint pattern files, run the examples beside patterns."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import as_file
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final, Literal

from tracegraph.corpus.corpus import Corpus
from tracegraph.errors import InputError, PatternError, UnsupportedPatternError
from tracegraph.export.presets import LintedFile, Tried
from tracegraph.pattern.ast import Pattern
from tracegraph.pattern.backend import Backend
from tracegraph.pattern.load import bind
from tracegraph.pattern.preset_lock import lint_presets
from tracegraph.pattern.presets import preset, presets
from tracegraph.resources import data_root
from tracegraph.workflows.load import load
from tracegraph.workflows.patterns import SUFFIX, read_patterns
from tracegraph.workflows.query import run_query

BACKENDS: Final[tuple[Backend, ...]] = ("matcher", "cypher")


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of running patterns on their examples.

    Attributes:
        tried: every example on every backend.
        untried: ``id@version`` of patterns without examples.
    """

    tried: tuple[Tried, ...]
    untried: tuple[str, ...]


def lint_files(paths: Sequence[Path]) -> list[LintedFile]:
    """Load pattern files, and those in folders, and say what is wrong with each.

    Raises:
        InputError: a file that was named cannot be read.
    """
    linted: list[LintedFile] = []
    for path in paths:
        linted += [_lint_met(met) for met in _met(path)] if path.is_dir() else [_lint(path)]
    return linted


def lint_library() -> LintedFile:
    """Say what is wrong with the presets that ship, their examples and their lock."""
    problems = lint_presets()
    ids = () if problems else tuple(f"{p.id}@{p.version}" for p in presets())
    return LintedFile("presets", ids, tuple((0, 0, problem) for problem in problems))


def try_presets(names: Sequence[str] = ()) -> Trial:
    """Run patterns on their examples, on both backends.

    The examples of a pattern lie in ``<id>.examples`` beside its file; ``match-*`` must match and
    ``no-match-*`` must not.

    Args:
        names: ids of presets, ``.tgp`` files, or folders of them; none for all presets.

    Raises:
        PatternError: there is no such preset, or a file does not load.
        InputError: a file cannot be read.
    """
    shelf = data_root("presets")
    chosen: list[tuple[Pattern, Traversable]] = []
    for name in names:
        files = _own_files(name)
        own = [(pattern, file.parent) for file in files for pattern in read_patterns(file)]
        chosen += own if files else [(preset(name), shelf)]
    chosen = chosen if names else [(pattern, shelf) for pattern in presets()]
    tried: list[Tried] = []
    untried: list[str] = []
    for pattern, folder in chosen:
        found = list(_try_all(pattern, folder.joinpath(f"{pattern.id}.examples")))
        tried += found
        untried += [] if found else [f"{pattern.id}@{pattern.version}"]
    return Trial(tuple(tried), tuple(untried))


def _met(folder: Path) -> list[Path]:
    return sorted(folder.rglob(f"*{SUFFIX}"))


def _own_files(name: str) -> list[Path]:
    """Return the pattern files that a name stands for; none for a preset, which comes first."""
    path = Path(name)
    if name.endswith(SUFFIX):
        return [path]
    if name in {each.id for each in presets()} or not path.is_dir():
        return []
    if not (files := _met(path)):
        raise InputError(f"{name}: no {SUFFIX} file there")
    return files


def _lint(path: Path) -> LintedFile:
    try:
        patterns = read_patterns(path)
    except PatternError as error:
        return LintedFile(str(path), (), ((error.line, error.column, error.message),))
    return LintedFile(str(path), tuple(f"{p.id}@{p.version}" for p in patterns), ())


def _lint_met(path: Path) -> LintedFile:
    """Check a file that was met in a folder: that it cannot be read is one more problem."""
    try:
        return _lint(path)
    except InputError as error:
        reason = str(error).removeprefix(f"{path}: ")
        return LintedFile(str(path), (), ((0, 0, reason),))


def _try_all(pattern: Pattern, folder: Traversable) -> Iterator[Tried]:
    examples = list(folder.iterdir()) if folder.is_dir() else []
    for example in sorted(examples, key=lambda entry: entry.name):
        if not example.name.startswith(("match-", "no-match-")):
            continue
        with as_file(example) as path, load([path], cache=False) as corpus:
            for backend in BACKENDS:
                yield _try(pattern, corpus, example.name, backend)


def _try(pattern: Pattern, corpus: Corpus, example: str, backend: Backend) -> Tried:
    expected: Literal["match", "no-match"] = "match" if example.startswith("match-") else "no-match"
    name = f"{pattern.id}@{pattern.version}"
    try:
        count = run_query(corpus, bind(pattern), backend=backend).match_count or 0
    except UnsupportedPatternError:
        return Tried(name, example, backend, expected, None, "refused")
    holds = bool(count) == (expected == "match")
    return Tried(name, example, backend, expected, count, "pass" if holds else "fail")

"""PATTERN as people name it -> a pattern that a backend can run."""

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from tracegraph.corpus.policy import Keep, keeps_content
from tracegraph.errors import InputError, PatternError, UsageError, system_reason
from tracegraph.pattern.ast import Pattern

if TYPE_CHECKING:
    from tracegraph.pattern.params import Given

SUFFIX = ".tgp"
_PRESET = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*(@v?\d+)?")


def is_named(text: str) -> bool:
    """Tell whether a text names a preset or a file, and is no pattern itself."""
    return bool(_PRESET.fullmatch(text)) or _is_path(text.partition("#")[0])


def _is_path(text: str) -> bool:
    """Tell a file from a preset id, whatever else lies in the folder under that name."""
    return text.endswith(SUFFIX) or (bool(os.path.dirname(text)) and os.path.isfile(text))


def load_pattern(name: str, params: "Given | None" = None) -> Pattern:
    """Load a preset by its id, or a pattern from a ``.tgp`` file.

    Args:
        name: a preset id, a file, or ``FILE#ID`` where a file holds several patterns.
        params: values of ``@params``.

    Raises:
        InputError: the file cannot be read.
        PatternError: the file cannot be loaded, or there is no such preset.
        UsageError: the file holds several patterns and none was named, or none of that name.
    """
    from tracegraph.pattern.load import bind
    from tracegraph.pattern.presets import preset

    path, wanted = _split(name)
    if not _is_path(path):
        if not _PRESET.fullmatch(name):
            raise UsageError(f"{name}: no preset and no .tgp file; a pattern as text needs -e")
        return bind(preset(name), params)
    patterns = read_patterns(Path(path), params)
    chosen = [p for p in patterns if wanted in {"", p.id, f"{p.id}@{p.version}"}]
    if len(chosen) == 1:
        return chosen[0]
    ids = ", ".join(f"{path}#{p.id}@{p.version}" for p in patterns)
    what = f"holds {len(patterns)} patterns" if chosen else f"holds no pattern {wanted!r}"
    raise UsageError(f"{path}: {what}; name one: {ids}")


def pattern_file(name: str) -> Path | None:
    """Return the file that holds a pattern; None for a preset."""
    path, _ = _split(name)
    return Path(path) if _is_path(path) else None


def _split(name: str) -> tuple[str, str]:
    """Split ``FILE#ID`` into the file and the id, which may be empty."""
    path, _, wanted = name.partition("#") if not os.path.lexists(name) else (name, "", "")
    return path, wanted


def load_expression(text: str, params: "Given | None" = None) -> Pattern:
    """Load a pattern given as text: a whole one or a bare body.

    Raises:
        PatternError: with line and column.
    """
    from tracegraph.pattern.load import load_adhoc

    return load_adhoc(text, params)


def read_patterns(path: Path, params: "Given | None" = None) -> list[Pattern]:
    """Load all patterns of a file.

    Raises:
        InputError: it cannot be read.
        PatternError: something in it cannot be loaded.
    """
    from tracegraph.pattern.load import load_text

    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {system_reason(error)}") from None
    except UnicodeDecodeError as error:
        raise PatternError(f"is not UTF-8 text (byte {error.start})", source=str(path)) from None
    return load_text(text, str(path), params)


def unkept(pattern: Pattern, keep: Keep) -> str | None:
    """Say which fields of a pattern are unknown in every step because none was to be kept."""
    from tracegraph.pattern.walk import asked_fields

    needed = {} if keeps_content(keep) else dict.fromkeys(("input", "output", "attr"), "content")
    if keep == "structure":
        needed["error.message"] = "errors"
    missing = sorted(asked_fields(pattern) & set(needed))
    if not missing:
        return None
    wanted = "content" if "content" in {needed[field] for field in missing} else "errors"
    return f"{', '.join(missing)}: not kept, so unknown in every step; --keep {wanted} keeps it"

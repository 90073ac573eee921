"""The shipped presets, read from their parsed form in ``presets.lock`` (no parser needed)."""

from functools import cache
from importlib.resources.abc import Traversable

import msgspec

from tracegraph.errors import PatternError
from tracegraph.pattern.ast import Pattern
from tracegraph.pattern.fields import nearest
from tracegraph.resources import data_root

LOCK = "presets.lock"


class Locked(msgspec.Struct, frozen=True):
    """One ``id@version``: the digest of its meaning, and its parsed form.

    The form is None for a version that no file holds any more; its digest stays, so that the
    version cannot come back with another meaning.
    """

    digest: str
    pattern: Pattern | None


def read_lock(root: Traversable) -> dict[str, Locked]:
    """Return the entries of a folder's lock by ``id@version``; empty without a lock.

    Raises:
        PatternError: the lock is no lock of this version of tracegraph.
    """
    lock = root.joinpath(LOCK)
    if not lock.is_file():
        return {}
    try:
        return msgspec.json.decode(lock.read_bytes(), type=dict[str, Locked])
    except msgspec.DecodeError as error:
        raise PatternError(
            f"not a lock of this version ({error}): delete it and write it anew",
            source=LOCK,
        ) from None


@cache
def _shipped() -> dict[tuple[str, int], Pattern]:
    found = {}
    for locked in read_lock(data_root("presets")).values():
        if locked.pattern is not None:
            found[locked.pattern.id, locked.pattern.version] = locked.pattern
    return dict(sorted(found.items()))


def presets() -> list[Pattern]:
    """Return all shipped presets, by id and version; their params are not bound yet."""
    return list(_shipped().values())


def preset(name: str) -> Pattern:
    """Return a shipped preset; its params are not bound yet.

    Args:
        name: ``tool-failure`` for its highest version, or ``tool-failure@1`` or ``@v1``.

    Raises:
        PatternError: no such preset or version, with the nearest ids or the versions there are.
    """
    wanted, at, text = name.partition("@")
    versions = {version: each for (key, version), each in _shipped().items() if key == wanted}
    if not versions:
        known = sorted({key for key, _ in _shipped()})
        hint = nearest(wanted, known) or "; 'tracegraph presets list' shows them all"
        raise PatternError(f"no preset '{wanted}'{hint}")
    if not at:
        return versions[max(versions)]
    number = text.removeprefix("v")
    version = int(number) if number.isascii() and number.isdigit() and len(number) < 10 else 0
    if version not in versions:
        has = ", ".join(f"@{each}" for each in versions)
        raise PatternError(f"no version '{text}' of preset '{wanted}'; there is {has}")
    return versions[version]

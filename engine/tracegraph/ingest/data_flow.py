"""Which step used what another one made, told by values that reappear (origin ``data_flow``).

A value proves something only if it is telling enough not to be there by chance, and if one step
alone made it: what was given to the run, or to a step before, is nobody's product, and what two
steps made may come from either. Values are compared by digest, so the work is linear in their size.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from tracegraph.model.digest import parse_text

_LEVELS = 32
"""How deep values are looked into."""
_LONG = 64
_TELLING_DIGITS = 6
_TELLING_TEXT = 20
_TELLING_ID = 12
"""Length from which text counts that has a digit in it, as ids have and words have not."""
_TELLING_WHOLE = 20
_PUNCTUATION = 4
"""What JSON writes around a member: two quotes, a colon, a comma."""
_SHARED: Final = -1


@dataclass(frozen=True, slots=True)
class Flow:
    """A step as far as values flow through it.

    Attributes:
        row: the step.
        given: its decoded input.
        made: its decoded output.
        rereads: it may be given all that went before again, as model steps and graph nodes are
            (tools are given what was chosen for them): of these only the first that holds a value
            was caused by who made it.
    """

    row: int
    given: Any
    made: Any
    rereads: bool


def data_causes(flows: Iterable[Flow], known: Iterable[Any]) -> Iterator[tuple[int, int]]:
    """Yield (effect, cause) of each step that was given what an earlier one made.

    Args:
        flows: the steps in order.
        known: values that were there before the first of them.
    """
    foreign = {value for item in known for value in telling_values(item)}
    maker: dict[str, int] = {}
    read: set[str] = set()
    for flow in flows:
        given = telling_values(flow.given)
        causes: dict[int, None] = {}
        for value in given:
            cause = maker.get(value)
            if cause is None:
                foreign.add(value)
            elif cause != _SHARED and not (flow.rereads and value in read):
                causes[cause] = None
            if flow.rereads:
                read.add(value)
        yield from ((flow.row, cause) for cause in causes)
        for value in telling_values(flow.made):
            if value not in foreign:  # what was passed on comes from who passed it on last
                fresh = value not in maker or (value in given and maker[value] != _SHARED)
                maker[value] = flow.row if fresh else _SHARED


def telling_values(value: Any) -> dict[str, None]:
    """Return the digests of the values in a value, itself included, that are no coincidence.

    Telling are: text of 20 characters, or of 12 with a digit; numbers of 6 significant digits;
    arrays and objects of 20 characters as JSON that hold two texts or numbers, one of them of at
    least 4 characters or significant digits. JSON inside text is looked into.
    """
    found: dict[str, None] = {}
    _visit(value, 0, found)
    return found


@dataclass(slots=True)
class _Seen:
    """What is known of a visited value: what it is compared by, and how much it tells.

    The key is empty where the value was not looked into down to its end.
    """

    key: str
    size: int = 0
    leaves: int = 0
    telling: bool = False


def _visit(value: Any, level: int, found: dict[str, None]) -> _Seen:
    if isinstance(value, str):
        return _visit_text(value, level, found)
    if isinstance(value, dict | list) and level < _LEVELS:
        return _visit_whole(value, level, found)
    if isinstance(value, bool) or value is None:
        return _Seen(str(value))
    return _visit_number(value, found) if isinstance(value, int | float) else _Seen("")


def _visit_text(text: str, level: int, found: dict[str, None]) -> _Seen:
    if text[:1] in ("{", "[") and level < _LEVELS:
        try:
            return _visit(parse_text(text), level + 1, found)
        except ValueError:
            pass  # only looks like JSON
    bare = text.strip()
    key = _digest(f'"{bare}') if len(bare) > _LONG else f'"{bare}'
    if len(bare) >= _TELLING_TEXT or (len(bare) >= _TELLING_ID and any(map(str.isdigit, bare))):
        found[key] = None
    return _Seen(key, len(bare), 1 if bare else 0, len(bare) > 3)


def _visit_number(number: float, found: dict[str, None]) -> _Seen:
    if isinstance(number, float) and math.isfinite(number) and number.is_integer():
        number = int(number)
    key = repr(number) if isinstance(number, float) or abs(number) < 10**_LONG else hex(number)
    digits = len(key.partition("e")[0].replace(".", "").strip("-0"))
    if digits >= _TELLING_DIGITS:
        found[key] = None
    return _Seen(key, len(key), 1, digits > 3)


def _visit_whole(value: dict[str, Any] | list[Any], level: int, found: dict[str, None]) -> _Seen:
    is_object = isinstance(value, dict)
    names = sorted(value) if isinstance(value, dict) else range(len(value))
    parts: list[str] = []
    whole = _Seen("")
    is_complete = True
    for name in names:
        part = _visit(value[name], level + 1, found)  # type: ignore[index]
        is_complete &= bool(part.key)
        parts.append(f"{json.dumps(name)}:{part.key}" if is_object else part.key)
        whole.size += part.size + (len(name) + _PUNCTUATION if isinstance(name, str) else 1)
        whole.leaves += part.leaves
        whole.telling |= part.telling
    if not is_complete:
        return whole
    whole.key = _digest(("{" if is_object else "[") + "\x00".join(parts))
    if whole.leaves > 1 and whole.telling and whole.size >= _TELLING_WHOLE:
        found[whole.key] = None
    return whole


def _digest(text: str) -> str:
    return "#" + hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

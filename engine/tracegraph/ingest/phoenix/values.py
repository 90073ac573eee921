"""Attributes and times as Phoenix writes them.

Phoenix parses some attributes that OpenTelemetry carries as JSON text, and keeps all of them as one
nested object (``phoenix.trace.attributes``): names are split at dots, and numbers that lead to
objects are places in a list. Its REST answers flatten that again, a DataFrame does so in part, the
database holds it as it is. Here they become the flat names of OpenTelemetry, with those attributes
whole that were whole before Phoenix took them.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from tracegraph.ingest.attributes import LARGEST, Attributes
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.measures import finite_number
from tracegraph.ingest.nesting import LEVELS, is_too_deep
from tracegraph.ingest.times import parse_time
from tracegraph.model.codes import UNKNOWN

UNREADABLE_TIME = -2
_WHOLE = ("metadata", "tool.parameters", "llm.prompt_template.variables")
_PARTS = tuple(f"{name}." for name in _WHOLE)
_UNITS = ((10**11, 10**9), (10**14, 10**6), (10**17, 10**3))
"""(numbers below, nanoseconds of one): for times since 1973 the size of a number tells its unit."""
_MICROSECOND = 1_000
_DEEPEST = 100
"""What has more dots in its name than this is not taken apart any further."""


def attributes_of(recorded: Mapping[str, Any], place: str, losses: Losses) -> Attributes:
    """Return attributes under the names that OpenTelemetry gives them.

    Gap code: ``phoenix.unreadable_field``, of an attribute that is nested too deeply.

    Args:
        recorded: the attributes, nested, flat or in between.
        place: names the span in messages.
        losses: where losses are disclosed.
    """
    values: dict[str, Any] = {}
    parts: dict[str, dict[str, Any]] = {}
    for name, value in _flat(recorded, place, losses):
        if name.startswith(_PARTS):
            whole = next(whole for whole in _WHOLE if name.startswith(whole + "."))
            parts.setdefault(whole, {})[name[len(whole) + 1 :]] = value
        else:
            values[name] = value
    for whole, held in parts.items():
        values.setdefault(whole, _nested(held))
    return Attributes(values)


def time_of(value: Any) -> int:
    """Return nanoseconds since the epoch: of text, or of a number in whatever unit it is.

    The epoch itself is Phoenix's reading of a time that was not recorded. UNREADABLE_TIME is what
    is no time.
    """
    if value is None or value == "":
        return UNKNOWN
    if isinstance(value, str):
        try:
            return parse_time(value) or UNKNOWN
        except ValueError:
            if not value.isascii() or not value.isdigit() or len(value) > 20:
                return UNREADABLE_TIME
            value = int(value)
    value = finite_number(value)
    if value is None:
        return UNREADABLE_TIME
    unit = next((ns for limit, ns in _UNITS if value < limit), 1)
    ns = value * unit if isinstance(value, int) else to_microsecond(round(value * unit))
    return (ns or UNKNOWN) if 0 <= ns <= LARGEST else UNREADABLE_TIME


def to_microsecond(ns: int) -> int:
    """Round to the microsecond, which is what Phoenix keeps; the digits behind are a float's."""
    return (ns + _MICROSECOND // 2) // _MICROSECOND * _MICROSECOND


def _flat(recorded: Mapping[str, Any], place: str, losses: Losses) -> Iterator[tuple[str, Any]]:
    """Yield (name, value) of what is at the ends of a nested object."""
    groups = [("", _members(recorded))]
    while groups:
        prefix, members = groups[-1]
        for key, value in members:
            if value is None:
                continue
            name = f"{prefix}{key}"
            if not isinstance(value, dict | list):
                yield name, value
            elif len(groups) < LEVELS and _is_group(name, value):
                groups.append((f"{name}.", _members(value)))
                break
            elif not is_too_deep(value):
                yield name, value
            else:
                what = f"{place}: {name[:60]}: nested too deeply to be read"
                losses.add("phoenix.unreadable_field", what)
        else:
            groups.pop()


def _members(group: Any) -> Iterator[tuple[Any, Any]]:
    return iter(group.items() if isinstance(group, Mapping) else enumerate(group))


def _is_group(name: str, value: Any) -> bool:
    """Tell what Phoenix makes names of: objects, and lists that hold one."""
    if isinstance(value, dict):
        return name not in _WHOLE
    return any(isinstance(item, dict) for item in value)


def _nested(values: Mapping[str, Any]) -> Any:
    """Undo what flattening did to one object."""
    root: dict[str, Any] = {}
    for name, value in values.items():
        at = root
        *above, last = name.split(".", _DEEPEST)
        for part in above:
            inner = at.setdefault(part, {})
            if not isinstance(inner, dict):  # a value and what is below it: both stay
                at, last = root, name
                break
            at = inner
        at[last] = value
    return _with_lists(root)


def _with_lists(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    made = {key: _with_lists(item) for key, item in value.items()}
    numbers = [str(number) for number in range(len(made))]
    if made and set(made) == set(numbers) and all(isinstance(v, dict) for v in made.values()):
        return [made[number] for number in numbers]
    return made

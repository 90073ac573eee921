"""Put values in the place of ``@params``."""

from collections.abc import Mapping
from typing import Any

import msgspec

from tracegraph.pattern.ast import (
    Compare,
    Contains,
    Duration,
    In,
    Like,
    Node,
    Number,
    Param,
    Run,
    Text,
    Value,
    Word,
)
from tracegraph.pattern.fields import KINDS, WORDS, nearest
from tracegraph.pattern.literals import parse_duration, parse_number
from tracegraph.pattern.operand_types import Type, type_of, word_type
from tracegraph.pattern.parsed import Mark, Parsed
from tracegraph.pattern.walk import nodes

Given = Mapping[str, str | int | float | bool]
"""Values by name: texts as typed on a command line, or Python values."""


def bind_params(parsed: Parsed, given: Given) -> Parsed:
    """Replace every ``@name`` by the given value, else by its default.

    A text is read as the type of the default; without a default, as the type of what the param
    is compared with. The result holds no params any more and has to be validated again, since a
    Python value may be of a wrong type.

    Raises:
        PatternError: a param has no value, a value does not fit, or a given name is unknown.
    """
    pattern = parsed.pattern
    defaults = dict(pattern.params)
    wanted = _wanted_types(pattern.body)
    known = {**defaults, **wanted}
    for name in given:
        if name not in known:
            hint = nearest(name, known) or (
                f"; it has {', '.join(known)}" if known else "; it has none"
            )
            raise parsed.error(f"no param '@{name}' in pattern '{pattern.id}'{hint}", "id")
    values: dict[str, Value] = {}
    for node in nodes(pattern.body):
        if isinstance(node, Param) and node.name not in values:
            values[node.name] = _value(parsed, node, given, defaults, wanted)
    replacer = _Replacer(values, parsed)
    body = replacer.replace(pattern.body)
    bound = msgspec.structs.replace(pattern, body=body, params=())
    return Parsed(bound, replacer.marks, parsed.heads, parsed.source)


class _Replacer:
    """Rebuilds a tree with values for params and carries the places over."""

    def __init__(self, values: Mapping[str, Value], parsed: Parsed) -> None:
        self.values = values
        self.old = parsed.marks
        self.marks: dict[int | tuple[int, int], Mark] = {}

    def replace(self, item: Any) -> Any:
        if isinstance(item, tuple):
            return tuple(map(self.replace, item))
        if not isinstance(item, Node):
            return item
        if isinstance(item, Param):
            value = self.values[item.name]
            new: Node = type(value)(*(getattr(value, name) for name in value.__struct_fields__))
        else:
            parts = {name: self.replace(getattr(item, name)) for name in item.__struct_fields__}
            new = type(item)(**parts)
        if id(item) in self.old:
            self.marks[id(new)] = self.old[id(item)]
        if isinstance(item, Run):
            for word in range(len(item.same)):
                if (id(item), word) in self.old:
                    self.marks[id(new), word] = self.old[id(item), word]
        return new


def _value(
    parsed: Parsed,
    param: Param,
    given: Given,
    defaults: Mapping[str, Value],
    wanted: Mapping[str, Type],
) -> Value:
    name = param.name
    default = defaults.get(name)
    if name not in given:
        if default is None:
            raise parsed.error(f"'@{name}' has no value: give one with --param {name}=...", param)
        return default
    kind = wanted[name] if default is None else type_of(default)
    try:
        return read_value(given[name], kind)
    except ValueError as error:
        raise parsed.error(f"param '@{name}': {error}", f"param {name}", param) from None


def read_value(  # noqa: PLR0911  # one return per type
    value: str | int | float | bool, kind: Type
) -> Value:
    """Read a given value as a literal of a type.

    Raises:
        ValueError: it does not fit.
    """
    if isinstance(value, bool):
        return Word("true" if value else "false")
    if isinstance(value, int | float):
        return Number(value)
    match kind:
        case "number":
            return Number(parse_number(value))
        case "duration":
            return Duration(parse_duration(value))
        case "status" | "kind" | "bool":
            if value in (*WORDS, *KINDS[1:]) and word_type(value) == kind:
                return Word(value)
            known = [word for word in (*WORDS, *KINDS[1:]) if word_type(word) == kind]
            raise ValueError(f"{value!r} is not a {kind}{nearest(value, known)}")
        case "any":
            try:
                return Number(parse_number(value))
            except ValueError:
                return Text(value)
    return Text(value)


def _wanted_types(body: object) -> dict[str, Type]:
    """Return for every param the type of what it is compared with, the first place counting."""
    found: dict[str, Type] = {}
    for node in nodes(body):
        match node:
            case Compare(Param(name), _, other) | Compare(other, _, Param(name)):
                found.setdefault(name, type_of(other))
            case In(operand, values):
                for value in values:
                    if isinstance(value, Param):
                        found.setdefault(value.name, type_of(operand))
            case Like(_, Param(name)) | Contains(_, Param(name)):
                found.setdefault(name, "text")
    return found

"""Does a value hold a published contract: the JSON Schema itself is read, nothing is copied of it.

Knows the keywords that the contract of the trace artifact uses; a test keeps the two in step and
compares the verdicts with those of an independent validator.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from tracegraph.resources import read_data

Schema = Mapping[str, Any]
_SHOWN = 60
_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
    "number": lambda v: isinstance(v, int | float) and not isinstance(v, bool),
    "integer": lambda v: (
        (isinstance(v, int) and not isinstance(v, bool))
        or (isinstance(v, float) and v.is_integer())
    ),
}


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that a contract forbids.

    Attributes:
        path: the field, as in ``steps[3].kind``; empty for the document itself.
        text: what is wrong with it.
    """

    path: str
    text: str


def violations(contract: str, value: Any) -> Iterator[Problem]:
    """Yield what is wrong with a value under a contract, in the order of the document.

    Args:
        contract: name and version, as in ``trace-artifact.v1``.
        value: decoded JSON.
    """
    schema = _schema(contract)
    return _Walk(schema["$defs"]).of(schema, value, "")


def shown(value: Any) -> str:
    """Return a value as a message shows it: JSON, and of a long one the start."""
    if isinstance(value, dict | list):  # of any depth
        return "an object" if isinstance(value, dict) else "a list"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def member(path: str, key: str) -> str:
    """Return the path of a member of an object."""
    name = key if re.fullmatch(r"\w+", key) else f"[{shown(key)}]"
    return f"{path}.{name}" if path and name == key else f"{path}{name}"


@cache
def _schema(contract: str) -> Schema:
    loaded: Schema = json.loads(read_data("contracts", f"{contract}.schema.json"))
    return loaded


class _Walk:
    def __init__(self, definitions: Schema) -> None:
        self._definitions = definitions

    def of(self, schema: Schema, value: Any, path: str) -> Iterator[Problem]:
        """Yield the problems of a value; of one of the wrong type, only that."""
        if "$ref" in schema:
            schema = self._definitions[schema["$ref"].rpartition("/")[2]]
        wrong = _wrong(schema, value)
        if wrong is not None:
            yield Problem(path, wrong)
        elif isinstance(value, dict):
            yield from self._object(schema, value, path)
        elif isinstance(value, list) and "items" in schema:
            for index, item in enumerate(value):
                yield from self.of(schema["items"], item, f"{path}[{index}]")

    def _object(self, schema: Schema, value: dict[str, Any], path: str) -> Iterator[Problem]:
        for key in schema.get("required", ()):
            if key not in value:
                yield Problem(member(path, key), "is missing")
        fields = schema.get("properties", {})
        is_closed = schema.get("additionalProperties") is False
        for key, item in value.items():
            if key in fields:
                yield from self.of(fields[key], item, member(path, key))
            elif is_closed:
                yield Problem(member(path, key), "is no field of the contract")


def _wrong(schema: Schema, value: Any) -> str | None:
    """Return what is wrong with a value by itself."""
    types = schema.get("type", ())
    names = [types] if isinstance(types, str) else list(types)
    if names and not any(_TYPES[name](value) for name in names):
        return f"{shown(value)} is no {' or '.join(names)}"
    if "const" in schema and not _is_equal(value, schema["const"]):
        return f"{shown(value)} is not {shown(schema['const'])}"
    if "enum" in schema and not any(_is_equal(value, each) for each in schema["enum"]):
        return f"{shown(value)} is none of {', '.join(map(str, schema['enum']))}"
    return _out_of_bounds(schema, value)


def _out_of_bounds(schema: Schema, value: Any) -> str | None:
    if isinstance(value, str):
        return _wrong_text(schema, value)
    if isinstance(value, list) and schema.get("uniqueItems"):
        texts = Counter(item for item in value if isinstance(item, str))
        repeated = next((text for text, count in texts.items() if count > 1), None)
        return None if repeated is None else f"holds {shown(repeated)} twice"
    if isinstance(value, int | float) and value < schema.get("minimum", value):
        return f"{shown(value)} is below {schema['minimum']}"
    return None


def _wrong_text(schema: Schema, value: str) -> str | None:
    if len(value) < schema.get("minLength", 0):
        return "is empty"
    if "pattern" in schema and not re.search(schema["pattern"], value):
        form = " (ISO 8601 with a time zone)" if schema.get("format") == "date-time" else ""
        return f"{shown(value)} has not the form {schema['pattern']}{form}"
    return None


def _is_equal(one: Any, other: Any) -> bool:
    """Compare as JSON does, in which true is no number."""
    return isinstance(one, bool) == isinstance(other, bool) and one == other

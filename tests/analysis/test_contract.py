"""The verdict on a value under the published contract, against an independent validator's."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from shared_data import ROOT, fixture
from tracegraph.analysis.artifact_check import CONTRACT
from tracegraph.analysis.contract import violations
from tracegraph.export.artifact import write_artifact
from tracegraph.workflows.load import load

SCHEMA = json.loads((ROOT / "contracts" / f"{CONTRACT}.schema.json").read_text(encoding="utf-8"))
VALIDATOR = Draft202012Validator(SCHEMA)
KNOWN = {
    *("$ref", "type", "const", "enum", "minLength", "pattern", "minimum", "items", "uniqueItems"),
    *("properties", "required", "additionalProperties"),
    *("description", "title", "$schema", "$id", "$defs", "format"),
}


def _keywords(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        yield from schema
        for key, value in schema.items():
            inner = value.values() if key in {"properties", "$defs"} else [value]
            for each in inner:
                yield from _keywords(each)


def test_every_keyword_of_the_contract_is_known() -> None:
    assert set(_keywords(SCHEMA)) <= KNOWN


@pytest.fixture(scope="module")
def artifact() -> Any:
    with load([fixture("otlp/openinference_regression_v2.json")], cache=False) as corpus:
        return json.loads(write_artifact(next(corpus.traces())))


def _paths(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield path
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = list(enumerate(value))[:3]
    for key, item in items:
        yield from _paths(item, (*path, key))


ODD: list[Any] = [
    *(None, True, 0, -1, 1.5, 2.0, "", "x", [], [1, 1], {}, {"code": ""}),
    *("TOOL", "ok", "2026-01-01T00:00:00Z", "2026-01-01", ["tool_error", "tool_error"]),
]


def test_verdicts_are_those_of_an_independent_validator(artifact: Any) -> None:
    """Every field of a real artifact replaced by odd values, removed, joined by another."""
    for path in _paths(artifact):
        for odd in [*ODD, "removed", "joined"]:
            mutated = copy.deepcopy(artifact)
            holder = mutated
            for key in path[:-1]:
                holder = holder[key]
            if not path:
                mutated = odd
            elif odd == "removed":
                del holder[path[-1]]
            elif odd == "joined" and isinstance(holder, dict):
                holder["unheard_of"] = 1
            else:
                holder[path[-1]] = odd
            problems = list(violations(CONTRACT, mutated))
            theirs = list(VALIDATOR.iter_errors(mutated))
            assert bool(problems) == bool(theirs), (path, odd, problems, theirs)
            if theirs and odd not in ("removed", "joined") and path:
                assert any(_is_at(problem.path, path) for problem in problems), (path, problems)


def _is_at(said: str, path: tuple[str | int, ...]) -> bool:
    """Tell whether a path in words leads to a place, or to what is missing below it."""
    words = ""
    for key in path:
        words += f"[{key}]" if isinstance(key, int) else f".{key}"
    return said.startswith(words.lstrip("."))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["kind", "trace", "trace_id", "steps", "step_id", "causes", "gaps"])
            | st.text(),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_any_json_has_the_verdict_of_an_independent_validator(value: Any) -> None:
    assert (not list(violations(CONTRACT, value))) == VALIDATOR.is_valid(value)

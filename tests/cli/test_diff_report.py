"""The answer of ``tracegraph diff`` as a report: its contract and its privacy."""

import copy
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from analysis.diff.runs import Made
from cli.diff_answers import FATAL, V1, V2, answer, write
from cli_runner import Invoke
from shared_data import ROOT

SECRET = "sk-live 7f3a please e-mail bob@example.org"


@pytest.mark.parametrize("form", ["table", "json", "jsonl", "csv", "md"])
def test_no_free_text_of_a_trace_reaches_the_answer(invoke: Invoke, form: str) -> None:
    failing = Made(SECRET, status="error", error_type=SECRET, error_message=SECRET)
    a = write("a.json", [Made("kept::name", "CHAIN"), Made(SECRET, parent=0)])
    b = write("b.json", [Made("kept::name", "CHAIN"), failing, Made("other name", parent=0)])
    ran = invoke("diff", a, b, "--format", form, "--keep", "content")
    assert ran.code == 1
    assert "7f3a" not in ran.out + ran.err
    assert "bob@example.org" not in ran.out + ran.err
    if form in {"table", "json", "jsonl"}:
        assert len(set(re.findall(r"redacted:[0-9a-f]{64}", ran.out))) == 2


def test_names_are_matched_before_they_become_aliases(invoke: Invoke) -> None:
    steps = [Made("search the web"), Made("read the page", parent=0)]
    found = answer(invoke, write("a.json", steps), write("b.json", steps))
    assert found["identical"]
    assert found["correspondence"]["by"]["subtree"] == 2
    other = answer(invoke, "a.json", write("c.json", [*steps[:1], Made("read a page", parent=0)]))
    assert other["topology"]["changed"] == 1


# The contract.


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    """The published schema of the answer."""
    path = ROOT / "contracts" / "diff.v1.schema.json"
    return Draft202012Validator(json.loads(path.read_text(encoding="utf-8")))


def _places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the path of every value in a document; of a long list the first and the last."""
    yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _places(item, (*path, key))
    elif isinstance(value, list):
        for at in sorted({0, len(value) - 1} & set(range(len(value)))):
            yield from _places(value[at], (*path, at))


def _at(value: Any, path: tuple[str | int, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


@pytest.mark.parametrize("extra", [[], ["--structure"], ["--limit", "1"]])
def test_the_answer_holds_its_contract_and_no_mutation_does(
    invoke: Invoke, validator: Draft202012Validator, extra: list[str]
) -> None:
    found = answer(invoke, V1, V2, *extra)
    assert [error.message for error in validator.iter_errors(found)] == []
    assert list(found)[:2] == ["kind", "schema_version"]
    for path in _places(found):
        value = _at(found, path)
        if isinstance(value, dict):
            for key in [*value, "unheard_of"]:
                other = copy.deepcopy(found)
                changed = _at(other, path)
                if key in value:
                    del changed[key]
                else:
                    changed[key] = 1
                assert not validator.is_valid(other), (path, key)
        if path:
            other = copy.deepcopy(found)
            _at(other, path[:-1])[path[-1]] = ["of", "no", "type"]
            assert not validator.is_valid(other), path


@pytest.mark.parametrize(
    "pair", [("examples/made/retry_marker.json", V1), (V1, V1), (FATAL, V2), (V2, FATAL)]
)
def test_other_answers_hold_the_contract(
    invoke: Invoke, validator: Draft202012Validator, pair: tuple[str, str]
) -> None:
    assert [error.message for error in validator.iter_errors(answer(invoke, *pair))] == []


def test_a_difference_has_the_sides_that_its_type_says(
    invoke: Invoke, validator: Draft202012Validator
) -> None:
    found = answer(invoke, V1, V2)
    for verdict in ("topology", "causal_edges", "behaviour"):
        for word in ("changed", "only_in_a", "only_in_b"):
            other = copy.deepcopy(found)
            first = other[verdict]["differences"][0]
            is_told = word == first["type"]
            first["type"] = word
            assert validator.is_valid(other) is is_told, (verdict, word)

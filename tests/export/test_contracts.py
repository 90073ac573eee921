"""Every JSON output is valid under its contract; with a field less, more or mistyped it is not."""

import copy
import io
import json
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from shared_data import ROOT
from tracegraph.cli.main import main

CONTRACTS = ROOT / "contracts"
TRACES = str(ROOT / "examples" / "traces")
DATABASE = str(ROOT / "examples" / "langgraph" / "trace.db")
MADE = str(ROOT / "examples" / "made")
RUN = f"{MADE}/retry_marker.json"
FATAL = f"{TRACES}/tool_error_fatal.otlp.json"
OPEN = {"value", "values", "params", "attributes", "rows"}
"""Members whose content is not ours to fix: what a pattern returns, a producer records, ..."""
ADDED = {
    "why": {"candidates", "evaluations"},
    "ingest": {"opened_count", "unchanged_count", "formats", "skipped.format"},
}
"""Members that a contract gained after it was published: documents of before are without them."""
HAVING = "TOOL where status == error having count >= 3 by name return name"
VALUES = "a: LLM -> b: TOOL return $a.start, $b.duration, $b.signals, $a.cost"
NEEDY = "pattern needy v1\n  needs args\nmatch\n  TOOL"
RULES = (
    "--rule failures-not-increased --rule topology-unchanged --rule pattern-not-increased:error "
    "--rule max-tokens:+10% --rule max-cost:5 --rule max-duration:30s --rule max-steps:+1%"
).split()
WRITTEN = "FILE"
"""Stands for the file that a command writes its document to."""

COMMANDS = {
    "query": ["query", "tool-failure", TRACES],
    "query possible": ["query", "-e", "a: LLM where cost > 1", TRACES],
    "query run": ["query", "-e", "xs: TOOL {3,} same name return $xs.count", TRACES],
    "query having": ["query", "-e", HAVING, TRACES],
    "query exists": ["query", "tool-failure", TRACES, "--exists", "--limit", "1"],
    "query values": ["query", "-e", VALUES, TRACES],
    "query needs": ["query", "-e", NEEDY, MADE],
    "traces": ["traces", TRACES, MADE],
    "sessions": ["traces", "--by-session", TRACES, MADE],
    "inspect": ["inspect", f"{TRACES}/tool_error_recover.otlp.json"],
    "inspect content": ["inspect", f"{TRACES}/react_ok.otlp.json", "--keep", "content"],
    "explain": ["explain", f"{TRACES}/tool_error_fatal.otlp.json", "183f"],
    "context": ["context", f"{TRACES}/react_ok.otlp.json", "6500"],
    "context since": ["context", f"{TRACES}/react_ok.otlp.json", "6500", "--diff", "1e32"],
    "context state": ["context", f"{DATABASE}#A", "f222", "--diff", "2af7"],
    "why": ["why", f"{TRACES}/tool_error_recover.otlp.json"],
    "why healthy": ["why", f"{TRACES}/react_ok.otlp.json"],
    "why fatal": ["why", f"{TRACES}/tool_error_fatal.otlp.json"],
    "why others": ["why", f"{TRACES}/tool_retry_same_args.otlp.json"],
    "analyze": ["analyze", f"{TRACES}/tool_error_fatal.otlp.json"],
    "analyze baseline": ["analyze", f"{TRACES}#c510", "--baseline", f"{TRACES}#6f3d"],
    "diff": ["diff", f"{TRACES}#c510", f"{TRACES}#6f3d"],
    "diff identical": ["diff", RUN, RUN],
    "check": ["check", RUN, "--baseline", RUN, "--rule", "failures-not-increased"],
    "check fails": ["check", FATAL, "--baseline", f"{TRACES}/react_ok.otlp.json", *RULES],
    "candidates": ["export-review-candidates", "tool-retry-failure", MADE, "-o", WRITTEN],
    "no candidates": ["export-review-candidates", "tool-retry-failure", TRACES, "-o", WRITTEN],
    "validate": ["validate", MADE],
    "validate invalid": ["validate", f"{TRACES}/react_ok.otlp.json", str(ROOT / "examples")],
    "digest": ["digest", MADE],
    "summarize": ["summarize", "tool-retry-failure", MADE],
    "summarize lossy": ["summarize", "error", str(ROOT / "examples")],
    "cypher": ["cypher", "MATCH (s:Step) RETURN s, s.cost", TRACES],
    "ingest": ["ingest", TRACES, str(ROOT / "examples")],
    "presets": ["presets", "list"],
    "preset": ["presets", "show", "tool-retry-failure"],
    "lint": ["presets", "lint", str(ROOT / "examples" / "patterns")],
    "test": ["presets", "test", "tool-failure"],
    "cache": ["cache", "show"],
}


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Return one document of each kind, as the command line writes it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRACEGRAPH_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        file = tmp_path_factory.mktemp("written") / "document.json"
        yield {name: _document(arguments, file) for name, arguments in COMMANDS.items()}


def _document(arguments: list[str], file: Path) -> Any:
    if WRITTEN in arguments:
        with pytest.raises(SystemExit) as ended:
            main([str(file) if word == WRITTEN else word for word in arguments])
        assert ended.value.code == 0, arguments
        return json.loads(file.read_text(encoding="utf-8"))
    with redirect_stdout(io.StringIO()) as out, pytest.raises(SystemExit) as ended:
        main([*arguments, "--format", "json"])
    assert ended.value.code in {0, 1, 3}, arguments
    return json.loads(out.getvalue())


def _validator(document: dict[str, Any]) -> Draft202012Validator:
    name = document["kind"].removeprefix("tracegraph.")
    path = CONTRACTS / f"{name}.v{document['schema_version']}.schema.json"
    return Draft202012Validator(json.loads(path.read_text(encoding="utf-8")))


def _objects(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the path of every object of a document whose fields the contract fixes."""
    if isinstance(value, dict):
        yield path
        for key, item in value.items():
            if key not in OPEN:
                yield from _objects(item, (*path, key))
    elif isinstance(value, list) and value:
        yield from _objects(value[0], (*path, 0))


def _at(value: Any, path: tuple[str | int, ...]) -> dict[str, Any]:
    for step in path:
        value = value[step]
    assert isinstance(value, dict)
    return value


@pytest.mark.parametrize("name", COMMANDS)
def test_output_holds_its_contract(name: str, documents: dict[str, Any]) -> None:
    document = documents[name]
    errors = [error.message for error in _validator(document).iter_errors(document)]
    assert errors == []
    assert list(document)[:2] == ["kind", "schema_version"]


@pytest.mark.parametrize("name", COMMANDS)
def test_one_field_less_more_or_of_another_type_breaks_the_contract(
    name: str, documents: dict[str, Any]
) -> None:
    document = documents[name]
    validator = _validator(document)
    added = ADDED.get(document["kind"].removeprefix("tracegraph."), ())
    for path in _objects(document):
        for key in _at(document, path):
            less = copy.deepcopy(document)
            del _at(less, path)[key]
            is_added = ".".join([*(k for k in path if isinstance(k, str)), key]) in added
            assert validator.is_valid(less) == is_added, f"{path} without {key}"
            if key not in OPEN:
                odd = copy.deepcopy(document)
                _at(odd, path)[key] = [[["of no type that is expected"]]]
                assert not validator.is_valid(odd), f"{path} with an odd {key}"
        more = copy.deepcopy(document)
        _at(more, path)["unheard_of"] = 1
        assert not validator.is_valid(more), f"{path} with one more"


def test_the_documents_show_what_they_are_to_show(documents: dict[str, Any]) -> None:
    assert documents["query possible"]["possible_count"] > 0
    assert documents["query run"]["matches"][0]["steps"][1]["run_index"] == 1
    assert "members" in documents["query having"]["matches"][0]
    (lacking,) = documents["query needs"]["not_evaluable"]
    assert lacking == {"trace_id": "made-retry-marker", "needs": ["args"]}
    values = documents["query values"]["matches"][0]["values"]
    assert values["a.start"].endswith("Z")
    assert 0 < values["b.duration"] < 1000
    assert values["b.signals"] == []
    assert values["a.cost"] is None
    assert documents["ingest"]["skipped"]
    assert documents["cypher"]["rows"][0][0]["label"] == "Step"


def test_every_contract_has_a_document_here(documents: dict[str, Any]) -> None:
    """Elsewhere: artifacts, most of whose fields may be missing, and the front matter of memos."""
    names = {path.name.partition(".")[0] for path in CONTRACTS.glob("*.json")}
    kinds = {document["kind"].removeprefix("tracegraph.") for document in documents.values()}
    assert kinds | {"trace-artifact", "incident-memo"} == names


@pytest.mark.parametrize("path", sorted(CONTRACTS.glob("*.json")), ids=lambda path: path.name)
def test_contracts_are_described_schemas(path: Path) -> None:
    schema = json.loads(path.read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    name, version = path.name.removesuffix(".schema.json").rsplit(".v", 1)
    kind = {"trace-artifact": "trace"}.get(name, name)
    assert schema["properties"]["kind"]["const"] == f"tracegraph.{kind}"
    assert schema["properties"]["schema_version"]["const"] == int(version)
    undescribed = [
        f"{where}.{key}"
        for where, part in _parts(schema)
        for key, item in part.get("properties", {}).items()
        if "description" not in item and "$ref" not in item and "then" not in where
    ]
    assert undescribed == []


def _parts(schema: Any, where: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(schema, dict):
        yield where, schema
        for key, item in schema.items():
            if key not in {"if", "then", "else"}:
                yield from _parts(item, f"{where}/{key}")
    elif isinstance(schema, list):
        for item in schema:
            yield from _parts(item, where)

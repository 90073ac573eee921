"""Whatever is done to a file, it is read as far as it goes or refused in one line."""

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cli_runner import environment
from shared_data import fixture
from tracegraph.errors import InputError
from tracegraph.ingest.adapter import Adapter, ReadOptions
from tracegraph.ingest.agentdelta.adapter import AgentdeltaAdapter
from tracegraph.ingest.artifact.adapter import ArtifactAdapter
from tracegraph.ingest.peer_artifact.adapter import PeerArtifactAdapter
from tracegraph.ingest.source import Source
from tracegraph.model.columns import Columns
from tracegraph.model.seal import seal

OWN: dict[str, Any] = {
    "kind": "tracegraph.trace",
    "schema_version": 1,
    "trace": {"trace_id": "t", "gaps": [{"code": "a.b", "count": 1}], "attributes": {"k": [1]}},
    "steps": [
        {"step_id": "a", "kind": "TOOL", "started_at": "2026-01-01T00:00:00Z", "signals": []},
        {"step_id": "b", "status": "ok", "duration_ms": 1.5, "cost": "0.1", "attributes": {}},
    ],
    "causes": [{"effect": "b", "cause": "a", "origin": "edge", "evidence": "declared"}],
}
PEER: dict[str, Any] = json.loads(
    fixture("peer_artifact/langgraph_task_error.v7.json").read_bytes()
)
ROWS: list[Any] = [
    json.loads(line) for line in fixture("agentdelta/ok.jsonl").read_bytes().splitlines()
]
TEXT = st.text(st.characters(exclude_categories=[]), max_size=3)  # lone surrogates too
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)


def read(adapter: Adapter, data: bytes) -> list[Columns]:
    """Read what can be read; nothing but InputError may come out."""
    try:
        drafts = list(adapter.read([Source("x", data)], ReadOptions(keep_content=True)))
    except InputError as error:
        assert "\n" not in str(error)
        assert str(error).startswith("x")
        return []
    return [seal(draft) for draft in drafts]


def replaced(value: Any, data: st.DataObject) -> Any:
    """Return a copy of a JSON value in which one value or key is something else."""
    holder = {"": copy.deepcopy(value)}
    place: Any = holder
    key: Any = ""
    while isinstance(place[key], dict | list) and place[key] and data.draw(st.integers(0, 4)):
        place = place[key]
        keys = sorted(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
    place[key] = data.draw(JSON)
    return holder[""]


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_an_artifact_with_any_value_changed(data: st.DataObject) -> None:
    read(ArtifactAdapter(), json.dumps(replaced(OWN, data)).encode())


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_peer_artifact_with_any_value_changed(data: st.DataObject) -> None:
    read(PeerArtifactAdapter(), json.dumps(replaced(PEER, data)).encode())


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_agentdelta_rows_with_any_value_changed(data: st.DataObject) -> None:
    rows = replaced(ROWS, data)
    lines = "\n".join(json.dumps(row) for row in (rows if isinstance(rows, list) else [rows]))
    read(AgentdeltaAdapter(), lines.encode())


@pytest.mark.parametrize(
    ("adapter", "data"),
    [
        (ArtifactAdapter(), json.dumps(OWN).encode()),
        (PeerArtifactAdapter(), json.dumps(PEER).encode()),
        (AgentdeltaAdapter(), fixture("agentdelta/ok.jsonl").read_bytes()),
    ],
    ids=["artifact", "peer_artifact", "agentdelta"],
)
def test_a_file_cut_off_anywhere(adapter: Adapter, data: bytes) -> None:
    for end in range(0, len(data), 7):
        read(adapter, data[:end])


@pytest.mark.parametrize("text", ["9" * 5000, "1e999", "-0", "NaN", "Infinity"])
def test_numbers_that_no_reader_expects(text: str) -> None:
    columns = read(ArtifactAdapter(), json.dumps(OWN).replace("1.5", text).encode())
    assert sum(c.step_count for c in columns) == (0 if len(text) > 999 else 2)
    for key in ("step", "source_step"):
        row = f'{{"type": "node", "node_type": "llm", "{key}": {text}}}'
        read(AgentdeltaAdapter(), row.encode())


def test_every_cut_of_agentdelta_keeps_the_whole_lines() -> None:
    data = fixture("agentdelta/ok.jsonl").read_bytes()
    nodes = [json.loads(line)["type"] == "node" for line in data.splitlines()]
    for cut in range(2, len(nodes)):
        whole = b"\n".join(data.splitlines()[:cut]) + b"\n"
        (columns,) = read(AgentdeltaAdapter(), whole + data.splitlines()[cut][:9])
        kept = sum(nodes[:cut])
        assert columns.step_count == kept - (kept > 3)  # the fourth node returns from the third


def test_a_file_that_is_shortened_while_it_is_read_ends_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"{}\n" * 2_000_000)
    code = (
        "import os, pathlib, sys\n"
        "from tracegraph.ingest.source import Source\n"
        "path = pathlib.Path(sys.argv[1])\n"
        "source = Source.open(path, path.name)\n"
        "os.truncate(path, 0)\n"
        "print(sum(1 for _ in source.lines()), source.digest)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split()[0] == "2000000"

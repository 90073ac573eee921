"""A file is told by its content: one adapter takes it, and it is the right one."""

from pathlib import Path

import pytest

from shared_data import ROOT, fixture
from tracegraph.errors import UnknownFormatError
from tracegraph.ingest.registry import adapters, detect
from tracegraph.ingest.source import Source

FIXTURES = [
    (path, name)
    for folder, name in [
        (fixture("agent_lattice"), "agent_lattice"),
        (fixture("agentdelta"), "agentdelta"),
        (fixture("agentdiff"), "agentdiff"),
        (fixture("langfuse"), "langfuse"),
        (fixture("langgraph_state"), "langgraph_state"),
        (fixture("langsmith"), "langsmith"),
        (fixture("otlp"), "otlp"),
        (fixture("peer_artifact"), "peer_artifact"),
        (fixture("phoenix"), "phoenix"),
        (fixture("phoenix_without_spans"), "phoenix"),
        (ROOT / "presets", "artifact"),
    ]
    for path in sorted(folder.rglob("*.json*"))
]


@pytest.mark.parametrize(("path", "name"), FIXTURES, ids=lambda value: Path(value).name)
def test_one_adapter_takes_a_file(path: Path, name: str) -> None:
    source = Source.open(path, path.name)
    assert [adapter.name for adapter in adapters() if adapter.sniff(source)] == [name]
    assert detect(source).name == name


@pytest.mark.parametrize("data", [b"", b" \n", b"hello", b"{}", b"[]", b'{"a": 1}\n', b"\x00\xff"])
def test_other_content_is_taken_by_none(data: bytes) -> None:
    with pytest.raises(UnknownFormatError, match=r"^x\.json: "):
        detect(Source("x.json", data))

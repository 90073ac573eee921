"""One digest for one artifact, wherever it is shown."""

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from cli_runner import Invoke

RECOVERED = "examples/traces/tool_error_recover.otlp.json"
FATAL = "examples/traces/tool_error_fatal.otlp.json"


def _digest(invoke: Invoke, place: str) -> str:
    ran = invoke("digest", place)
    assert ran.code == 0, ran.err
    return ran.out.strip()


def test_it_is_the_sha256_of_what_ingest_writes(invoke: Invoke) -> None:
    invoke("ingest", RECOVERED, "-o", "A.json")
    assert _digest(invoke, "A.json") == hashlib.sha256(Path("A.json").read_bytes()).hexdigest()
    assert _digest(invoke, RECOVERED) == _digest(invoke, "A.json")


def test_layout_bodies_and_place_do_not_change_it(invoke: Invoke, folder: Path) -> None:
    invoke("ingest", RECOVERED, "-o", "A.json")
    invoke("ingest", RECOVERED, "-o", "bodies.json", "--keep", "content")
    document = json.loads(Path("A.json").read_text(encoding="utf-8"))
    Path("compact.json").write_text(json.dumps(document, separators=(",", ":")), encoding="utf-8")
    Path("wide.json").write_text(json.dumps(document, indent=8, sort_keys=True), encoding="utf-8")
    deep = folder / "a" / "b"
    deep.mkdir(parents=True)
    shutil.copy(RECOVERED, deep)
    invoke("ingest", "a", "--into", "corpus")
    places = [
        *("A.json", "bodies.json", "compact.json", "wide.json", "a", "a/b", "corpus"),
        *(str(deep / Path(RECOVERED).name), "examples/traces#6f3d"),
    ]
    assert {_digest(invoke, place) for place in places} == {_digest(invoke, RECOVERED)}


def test_a_change_changes_it(invoke: Invoke) -> None:
    invoke("ingest", RECOVERED, "-o", "A.json")
    document = json.loads(Path("A.json").read_text(encoding="utf-8"))
    document["steps"][0]["name"] = "other"
    Path("B.json").write_text(json.dumps(document), encoding="utf-8")
    assert _digest(invoke, "A.json") != _digest(invoke, "B.json")


def test_every_report_shows_the_same(invoke: Invoke) -> None:
    made = "examples/made/retry_marker.json"
    digests = {place: _digest(invoke, place) for place in (made, FATAL, RECOVERED)}
    invoke("export-review-candidates", "tool-failure", "examples/made", "-o", "c.json")
    candidates = json.loads(Path("c.json").read_text(encoding="utf-8"))["candidates"]
    assert {each["artifact_digest"] for each in candidates} == {digests[made]}
    for place, digest in digests.items():
        invoke("export-incident-memo", place, "-o", "m.md")
        assert f'artifact_digest: "{digest}"' in Path("m.md").read_text(encoding="utf-8")
        assert _json(invoke, "analyze", place)["trace"]["artifact_digest"] == digest
    summary = _json(invoke, "summarize", "tool-failure", "examples")
    shown = {e["artifact_digest"] for shape in summary["shapes"] for e in shape["examples"]}
    assert set(digests.values()) <= shown
    diff = _json(invoke, "diff", FATAL, RECOVERED)
    assert diff["a"]["artifact_digest"] == digests[FATAL]
    assert diff["b"]["artifact_digest"] == digests[RECOVERED]


def _json(invoke: Invoke, *arguments: str) -> Any:
    return json.loads(invoke(*arguments, "--format", "json").out)


@pytest.mark.parametrize("place", ["nowhere.json", "examples/traces", "examples/README.md"])
def test_what_has_no_digest_is_refused(place: str, invoke: Invoke) -> None:
    ran = invoke("digest", place)
    assert ran.code == 2
    assert ran.out == ""

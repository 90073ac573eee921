"""Every command of ``tracegraph`` over a folder that has the project's examples, in every form."""

import shutil
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path

from shared_data import ROOT, fixture
from tracegraph.cli.check import CheckForm
from tracegraph.cli.options import Drawn
from tracegraph.export.table import Format

TRACES = "examples/traces"
READ = f"{TRACES}/react_ok.otlp.json"
FATAL = f"{TRACES}/tool_error_fatal.otlp.json"
MADE = "examples/made/retry_marker.json"
DATABASE = "examples/langgraph/trace.db"
PHOENIX = "phoenix.jsonl"
PATTERN = "examples/patterns/recovered-by-model.tgp"
LOG = "examples/home-made/calls.csv"
LOG_MAP = "examples/home-made/calls.map.toml"
_RULES = "--rule failures-not-increased --rule pattern-not-increased:tool-failure".split()

ANSWERS: dict[str, tuple[list[str], Iterable[StrEnum]]] = {
    "query": (["query", PATTERN, TRACES], Format),
    "cypher": (["cypher", "MATCH (s:Step) RETURN s ORDER BY s.seq, s.step_id", READ], Format),
    "traces": (["traces", TRACES], Format),
    "sessions": (["traces", "--by-session", TRACES], Format),
    "inspect": (["inspect", READ], Drawn),
    "errors": (["inspect", FATAL, "--errors"], [Drawn.TABLE]),
    "explain": (["explain", FATAL, "183f"], Drawn),
    "context": (["context", READ, "6500", "--diff", "1e32"], Format),
    "state": (["context", f"{DATABASE}#A", "f222", "--diff", "2af7"], Format),
    "why": (["why", FATAL], Format),
    "analyze": (["analyze", FATAL, "--baseline", READ], Format),
    "diff": (["diff", FATAL, READ], Format),
    "check": (["check", FATAL, "--baseline", READ, *_RULES], CheckForm),
    "validate": (["validate", MADE], Format),
    "digest": (["digest", READ], Format),
    "summarize": (["summarize", "error", TRACES], Format),
    "ingest": (["ingest", TRACES], Format),
    "mapped log": (["ingest", LOG, "--map", LOG_MAP], Format),
    "presets list": (["presets", "list"], Format),
    "presets show": (["presets", "show", "tool-failure"], Format),
    "presets lint": (["presets", "lint", "examples/patterns"], Format),
    "presets test": (["presets", "test", "error"], Format),
}
"""What answers on standard output, and its forms."""

WRITERS: dict[str, list[str]] = {
    "artifact": ["ingest", READ],
    "artifact of a thread": ["ingest", "--sqlite", DATABASE, "--thread", "A"],
    "artifact of a mapped log": ["ingest", LOG, "--map", LOG_MAP, "--trace", "monday"],
    "mapping of a log": ["ingest", "--map-template", LOG],
    "ingest-otlp": ["ingest-otlp", "--file", READ],
    "ingest-phoenix": ["ingest-phoenix", "--file", PHOENIX],
    "export-review-candidates": ["export-review-candidates", "tool-retry-failure", MADE],
    "export-incident-memo": ["export-incident-memo", FATAL],
}
"""What writes a file with ``-o`` and nothing else."""

NO_FILES_OF_TRACES = {"cache show", "cache clear", "phoenix doctor", "phoenix diagnose"}
"""Commands that are tested elsewhere: they read the cache itself, and Phoenix."""


def lay_out(folder: Path) -> Path:
    """Make the folder in which the command lines run."""
    shutil.copytree(ROOT / "examples", folder / "examples")
    shutil.copy(fixture("phoenix") / "made_spans.jsonl", folder / PHOENIX)
    return folder


def answers() -> Iterator[list[str]]:
    """Yield the command line of each answer in each form."""
    for arguments, forms in ANSWERS.values():
        yield from ([*arguments, "--format", form.value] for form in forms)


def inputs_of(arguments: list[str]) -> list[str]:
    """Return the files that a command line names."""
    files = {READ, FATAL, MADE, DATABASE, PHOENIX, PATTERN, LOG, LOG_MAP}
    return [file for each in arguments if (file := each.partition("#")[0]) in files]

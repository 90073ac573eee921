"""The project's own files of every format, read and damaged without knowing their format."""

import copy
import json
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shared_data import ROOT, fixture
from tracegraph.errors import InputError
from tracegraph.ingest.adapter import Adapter, ReadOptions
from tracegraph.ingest.mapped.load import load_map
from tracegraph.ingest.registry import MAPPED, adapters
from tracegraph.ingest.source import Source
from tracegraph.model.seal import seal
from tracegraph.model.step import Step
from tracegraph.model.trace import iterate

Place = tuple[Any, ...]
ADAPTERS: dict[str, Adapter] = {adapter.name: adapter for adapter in adapters()}
PLACES = {
    "agent_lattice": [fixture("agent_lattice")],
    "agentdelta": [fixture("agentdelta")],
    "agentdiff": [fixture("agentdiff")],
    "artifact": [ROOT / "presets", ROOT / "examples" / "made"],
    "claude_code": [fixture("claude_code")],
    "crewai": [fixture("crewai")],
    "inspect_ai": [fixture("inspect_ai")],
    "langfuse": [fixture("langfuse")],
    "langgraph": [fixture("langgraph"), ROOT / "examples" / "langgraph"],
    "langgraph_state": [fixture("langgraph_state")],
    "langsmith": [fixture("langsmith")],
    "openai_agents": [fixture("openai_agents")],
    "jaeger": [fixture("jaeger")],
    "otel_sdk": [fixture("otel_sdk")],
    "trail": [fixture("trail")],
    "otlp": [fixture("otlp"), ROOT / "examples" / "traces"],
    "mapped": [fixture("mapped")],
    "peer_artifact": [fixture("peer_artifact")],
    "tau_bench": [fixture("tau_bench")],
    "phoenix": [fixture("phoenix"), fixture("phoenix_without_spans")],
    "swe_agent": [fixture("swe_agent")],
    "whowhen": [fixture("whowhen")],
}
_SUFFIXES = {".json", ".jsonl", ".txt", ".eval", ".sqlite", ".db"}
# Damaged one place after another: small, and between them every form of the format.
_DAMAGED = {
    "agent_lattice": "ok.jsonl team.jsonl",
    "agentdelta": "tricky_parallel_callback.jsonl failing.jsonl",
    "agentdiff": "failing.json recorded_envelope.json converted_langgraph.json",
    "artifact": "no-match-soft-error.json match-second-try.json retry_marker.json",
    "claude_code": "made_session.jsonl simonw_sample_session.json",
    "tau_bench": "airline_three_runs.json made_runs.jsonl",
    "crewai": "made_results.jsonl result_native_parallel.json log_two_runs.json made_events.jsonl",
    "inspect_ai": "generated_agents.json steps.json tool_call_error.json made_messages.json",
    "langfuse": "api_trace.json made_kinds.json",
    "langgraph_state": "snapshot.json result_constructors.json snapshot_interrupted.json",
    "swe_agent": "made_function_calling.json function_calling_simple.json "
    "generated_mini_toolcall.json generated_mini_responses.json",
    "langsmith": "page_interrupt.json nested_without_status.json",
    "openai_agents": "made_types.jsonl posted_chat.json made_spans_of_a_trace.json",
    "jaeger": "made_page.json made_stored.jsonl",
    "otel_sdk": "lines.jsonl made_array.json",
    "trail": "made_nested.json made_reduced.jsonl",
    "mapped": "made_all.jsonl made_array.json",
    "otlp": "genai_wf_fan_out_in.json openinference_unknown_tool.json made_measures.json "
    "made_signals.jsonl genai_log_events.jsonl",
    "peer_artifact": "langgraph_task_error.v7.json otlp_unknown_kinds.v7.json",
    "phoenix": "made_spans.jsonl made_px_trace_get.json made_frame_records.json "
    "made_otlpv1_page.json",
    "whowhen": "made_terminal.json made_lines.jsonl Algorithm-Generated__65.json",
}
# What is neither null nor of the value's own type; a list of one holds what no field expects.
_WRONG: dict[type, list[Any]] = {
    str: [7, [], {"x": 5}],
    bool: ["x", [1]],
    int: ["x", []],
    float: ["x", {}],
    dict: ["x", [[]]],
    list: ["x", {"x": 5}],
    type(None): [[[]]],
}
_FIELDS = (
    "name status_source start end error_type error_message tokens_prompt tokens_completion "
    "tokens_total cost tool_call_id args_digest result_digest model agent docs input output"
).split()
_REMOVED = object()
_DEEP = "\x00deep"
LEVELS = 5_000


def files_of(name: str) -> list[Path]:
    """Return the project's files of a format."""
    return sorted(
        path
        for place in PLACES[name]
        for path in place.rglob("*")
        if path.suffix in _SUFFIXES and not path.name.endswith("presets.lock")
    )


def options_of(name: str, *, keep_content: bool = False) -> ReadOptions:
    """Return the options that read the project's files of a format: logs need their mapping."""
    mapping = load_map(fixture("mapped/made.map.toml")) if name == MAPPED else None
    return ReadOptions(keep_content=keep_content, mapping=mapping)


def damaged_files() -> list[tuple[str, Path]]:
    """Return (adapter, file) of the documents that tests damage."""
    return [
        (name, next(path for path in files_of(name) if path.name == file))
        for name, files in _DAMAGED.items()
        for file in files.split()
    ]


@dataclass
class Reading:
    """What reading gave, whatever the format.

    Attributes:
        steps: how often each step id is there, over all traces.
        gaps: of the traces and of the file.
        held: the steps by id.
        refusal: why nothing was read.
    """

    steps: Counter[str] = field(default_factory=Counter)
    gaps: Counter[str] = field(default_factory=Counter)
    held: dict[str, Step] = field(default_factory=dict)
    refusal: str | None = None

    def unanswered(self) -> set[str]:
        """Return the steps that say of themselves that what they asked for never came back."""
        return {key for key, step in self.held.items() if "unanswered_call" in step.signals}

    def known(self, step_id: str) -> set[str]:
        """Return which fields of a step are known."""
        step = self.held[step_id]
        return {name for name in _FIELDS if getattr(step, name) is not None}


def read(name: str, source: Source, *, keep_content: bool = True) -> Reading:
    """Read what can be read, and hold to what every trace has to be.

    Nothing but InputError may come out, in one line that begins with the name of the file.
    """
    found = Reading()
    try:
        options = options_of(name, keep_content=keep_content)
        drafts = list(ADAPTERS[name].read([source], options))
    except InputError as error:
        found.refusal = str(error)
        assert "\n" not in found.refusal
        assert found.refusal.startswith(source.name)
        return found
    for draft in drafts:
        found.gaps.update(draft.file_gaps)
        columns = seal(draft)
        for text in columns.vocabulary:
            text.encode()  # no lone surrogate gets past a reader
        for trace in iterate(columns):
            steps = {step.step_id: step for step in trace.steps}
            assert len(steps) == len(trace)
            assert all({edge.effect, edge.cause} <= steps.keys() for edge in trace.causes)
            found.gaps.update({gap.code: gap.count for gap in trace.gaps})
            found.steps.update(steps.keys())
            found.held.update(steps)
    assert all("." in code for code in found.gaps)
    return found


@dataclass
class Document:
    """A file as plain JSON: its documents, one a line or the only one."""

    values: list[Any]
    lines: bool

    @classmethod
    def load(cls, path: Path) -> "Document":
        """Load a file."""
        text = path.read_text(encoding="utf-8")
        lines = path.suffix == ".jsonl"
        return cls([json.loads(t) for t in (text.splitlines() if lines else [text])], lines)

    def source(self) -> Source:
        """Return the file as adapters see it."""
        data = "\n".join(map(json.dumps, self.values)).encode()
        return Source("x", data.replace(json.dumps(_DEEP).encode(), b"[" * LEVELS + b"]" * LEVELS))

    def at(self, place: Place) -> Any:
        """Return the value at a place."""
        value: Any = self.values
        for key in place:
            value = value[key]
        return value

    def changed(self, place: Place, value: Any) -> "Document":
        """Return a copy with another value at a place."""
        made = Document(copy.deepcopy(self.values), self.lines)
        holder = made.at(place[:-1])
        if value is _REMOVED:
            del holder[place[-1]]
        else:
            holder[place[-1]] = value
        return made

    def places(self) -> Iterator[Place]:
        """Yield where there is a value; the one document of a file is no place in it."""
        yield from (place for place in _inside(self.values, ()) if self.lines or len(place) > 1)

    def records_of(self, place: Place) -> list[Place]:
        """Return the items of lists that a place is in, or is, the outermost first."""
        return [
            place[:end]
            for end in range(1 if self.lines else 2, len(place) + 1)
            if isinstance(place[end - 1], int) and isinstance(self.at(place[:end]), dict)
        ]


@dataclass
class Damage:
    """A document with one value taken out, of another type, or nested too deeply."""

    place: Place
    how: str
    document: Document = field(repr=False)
    old: Any


def damages(document: Document, rng: random.Random) -> Iterator[Damage]:
    """Damage one value of each kind of place: the same keys, in whichever items of the lists.

    Nesting comes last and only in some places, since the plain decoders that survive it are slow.
    """
    alike: dict[Place, list[Place]] = {}
    for place in document.places():
        kind = tuple("*" if isinstance(key, int) else key for key in place)
        alike.setdefault(kind, []).append(place)
    for places in alike.values():
        place = rng.choice(places)
        old = document.at(place)
        for wrong in _WRONG[type(old)]:
            yield Damage(place, "wrong", document.changed(place, wrong), old)
        if not isinstance(place[-1], int):
            yield Damage(place, "removed", document.changed(place, _REMOVED), old)
    for places in rng.sample(sorted(alike.values(), key=str), min(len(alike), 6)):
        place = rng.choice(places)
        yield Damage(place, "deep", document.changed(place, _DEEP), document.at(place))


def _inside(value: Any, place: Place) -> Iterator[Place]:
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            yield (*place, key)
            yield from _inside(item, (*place, key))

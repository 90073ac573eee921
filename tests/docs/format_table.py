"""docs/formats.md: what each format gives, measured on the fixtures, and why the rest is missing.

What is recovered is counted: a field that some step of a format's fixtures holds. What is not must
have its reason in ``format_notes.NOT_RECORDED``, and only what is not may have one; so neither can
be claimed by mistake. The gap codes are those that the code of the format's adapter can name.
"""

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from docs.format_notes import FIXTURES, NEVER, NOT_RECORDED, TITLES
from every_format import options_of
from shared_data import ROOT, fixture
from tracegraph.ingest import span_gaps
from tracegraph.ingest.reader import read_file
from tracegraph.ingest.source import Source
from tracegraph.model.codes import KINDS, ORIGINS
from tracegraph.model.columns import Columns, Mask
from tracegraph.model.seal import seal

_STEP_FIELDS = {
    "name": ("name",),
    "agent": ("agent",),
    "model": ("model",),
    "start": ("start",),
    "end": ("end",),
    "duration": ("duration",),
    "error type": ("error_type",),
    "error message": ("error_message",),
    "tokens": ("tokens_prompt", "tokens_completion", "tokens_total"),
    "cost": ("cost",),
    "tool call id": ("tool_call_id",),
    "arguments (digest)": ("args",),
    "result (digest)": ("result",),
    "retrieved documents": ("docs",),
}
_TRACE_FIELDS = {"run id": "run_id", "session id": "session_id"}
_STATUS = "status other than unset"
_SIGNALS = "signals"
FIELDS = (*_STEP_FIELDS, _STATUS, _SIGNALS, *_TRACE_FIELDS)
"""The rows of the table that are fields; kinds and origins of causes follow."""


class Measured:
    """What the fixtures of one format hold.

    Attributes:
        fields: names of FIELDS that were found.
        kinds: kinds of steps.
        origins: origins of causes.
        fidelity: the fidelities of its traces.
    """

    def __init__(self, name: str) -> None:
        self.fields: set[str] = set()
        self.kinds: set[str] = set()
        self.origins: set[str] = set()
        self.fidelity: set[int] = set()
        for path in _files(FIXTURES[name]):
            source = Source.open(path, path.name)
            options = options_of(name)
            adapter = read_file(source, options).adapter
            assert adapter.name == name, f"{path.name} is {adapter.name}, not {name}"
            for draft in adapter.read([source], options):
                self._add(seal(draft))

    def _add(self, columns: Columns) -> None:
        steps, traces = columns.steps, columns.traces
        for label, names in _STEP_FIELDS.items():
            if any(_known(getattr(steps, name)).any() for name in names):
                self.fields.add(label)
        if (steps.status > 0).any():
            self.fields.add(_STATUS)
        if (steps.signals > 0).any():
            self.fields.add(_SIGNALS)
        for label, name in _TRACE_FIELDS.items():
            if _known(getattr(traces, name)).any():
                self.fields.add(label)
        self.kinds |= {KINDS[code] for code in np.unique(steps.kind)}
        self.origins |= {ORIGINS[code] for code in np.unique(columns.causes.origin)}
        self.fidelity |= set(np.unique(traces.fidelity).tolist())


def _known(values: Mask) -> Mask:
    return np.asarray(values >= 0)


def _files(places: Iterable[str]) -> list[Path]:
    found: list[Path] = []
    for place in places:
        path = ROOT / place if place.startswith("examples/") else fixture(place)
        found += sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    assert found
    return found


def gap_codes(name: str) -> list[str]:
    """Return the gap codes of a format that its adapter names, in its code or its docstrings."""
    literal = re.compile(rf'["`]({name}\.[a-z0-9_]*[a-z0-9])["`]')
    files = (ROOT / "engine/tracegraph/ingest").rglob("*.py")
    texts = (path.read_text(encoding="utf-8") for path in files)
    found = {code for text in texts for code in literal.findall(text)}
    # A docstring names modules and files in the same way: what is a code stands in docs/gaps.md.
    found &= set(literal.findall((ROOT / "docs" / "gaps.md").read_text(encoding="utf-8")))
    if name in span_gaps.AREAS:
        words = {word: code for word, code in vars(span_gaps).items() if word.isupper()}
        found |= {f"{name}.{code}" for code in words.values() if isinstance(code, str)}
    return sorted(found - {f"{name}.{code}" for code in NEVER.get(name, ())})


def render() -> str:
    """Return the document."""
    names = list(TITLES)
    measured = {name: Measured(name) for name in names}
    lines = [_INTRODUCTION, "", _row(["", *(f"`{name}`" for name in names)])]
    lines.append(_row(["---"] * (len(names) + 1)))
    for field in FIELDS:
        lines.append(_row([field, *(_mark(field in measured[name].fields) for name in names)]))
    for origin in ORIGINS:
        if any(origin in m.origins for m in measured.values()):
            cells = [_mark(origin in measured[name].origins) for name in names]
            lines.append(_row([f"causes: `{origin}`", *cells]))
    for name in names:
        lines += _section(name, measured[name])
    return "\n".join(lines) + "\n"


def _section(name: str, measured: Measured) -> list[str]:
    kinds = ", ".join(kind for kind in KINDS if kind in measured.kinds)
    lines = ["", f"## {TITLES[name]}", f"Source `{name}`. Kinds of steps: {kinds}.", ""]
    lines += [f"- not recorded: **{what}**: {why}" for what, why in NOT_RECORDED[name].items()]
    codes = gap_codes(name)
    if codes:
        lines += [
            "",
            "Disclosed, where it happens: " + ", ".join(f"`{code}`" for code in codes) + ".",
        ]
    return lines


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _mark(found: bool) -> str:
    return "yes" if found else "-"


_INTRODUCTION = """\
# Formats: what is recovered, what is not, what is disclosed

What each format gives, counted on the traces in `tests/fixtures`: *yes* means that some trace of
that format holds it and that it arrives. A dash is explained below the table; it is unknown then,
never zero and never success. The gap codes are explained in [gaps.md](gaps.md), origins of causes
in [model.md](model.md). A portable artifact of tracegraph itself holds whatever the format of its
trace gave. This page is written by the tests: do not edit it by hand."""

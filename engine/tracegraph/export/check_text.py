"""May a run ship, as text for people: plain or Markdown."""

from collections.abc import Iterator

from tracegraph.export.check import Checked, Item, rule_item, run_item
from tracegraph.export.check_words import evidence_text, note_text, rule_text
from tracegraph.export.text import counted, markdown, visible

_Line = tuple[int, str]
"""Level (0: verdict, 1: run or rule, 2: item) and text."""


def check_lines(told: Checked) -> Iterator[str]:
    """Yield the lines for a terminal or a pipe."""
    opening = ("", "", "  • ")
    return (f"{opening[level]}{visible(text)}\n" for level, text in _lines(told))


def check_markdown(told: Checked) -> Iterator[str]:
    """Yield the same as Markdown."""
    for level, text in _lines(told):
        shown = markdown(visible(text))
        yield (f"**{shown}**\n\n", f"- {shown}\n", f"  - {shown}\n")[level]


def _lines(told: Checked) -> Iterator[_Line]:
    yield 0, told.check.verdict
    for run, digest in zip(told.check.pair.runs, told.digests, strict=True):
        yield 1, _run(run.which, run_item(run, digest))
    for judged in told.check.rules:
        item = rule_item(judged, told)
        yield 1, f"{item['outcome']} {rule_text(item)}"
        yield from ((2, evidence_text(found)) for found in item["evidence"])
        yield from ((2, f"because {note_text(note)}") for note in item["reasons"])
        yield from ((2, f"note: {note_text(note)}") for note in item["limitations"])


def _run(which: str, item: Item) -> str:
    steps = counted(item["step_count"], "step")
    facts = f"{item['source']}, {item['status']}, {item['fidelity']}"
    failing = f"{item['error_count']} failing"
    artifact = f"artifact {item['artifact_digest']}"
    return f"{which} {item['trace_id']} ({facts}): {steps}, {failing}, {artifact}"

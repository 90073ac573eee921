"""Steps and arrows as text that other programs draw: Mermaid flowcharts and Graphviz digraphs.

Arrows lead from cause to effect. Names come from traces, that is from anyone: in both languages
what could end a label is written out.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tracegraph.export.text import visible
from tracegraph.model.step import Step


@dataclass(frozen=True, slots=True)
class Arrow:
    """What leads from one row to another, and how it is known."""

    cause: int
    effect: int
    label: str


def mermaid(steps: Iterable[Step], arrows: Iterable[Arrow]) -> Iterator[str]:
    """Yield a Mermaid flowchart, one step or arrow a line (mermaid.js.org, flowchart syntax)."""
    yield "flowchart TD\n"
    failing: list[str] = []
    for step in steps:
        yield f'  s{step.row}["{_mermaid(_label(step))}"]\n'
        if step.status == "error":
            failing.append(f"s{step.row}")
    for arrow in arrows:
        yield f"  s{arrow.cause} -->|{_mermaid(arrow.label)}| s{arrow.effect}\n"
    if failing:
        yield "  classDef failing stroke:#c00,stroke-width:2px\n"
        yield f"  class {','.join(failing)} failing\n"


def dot(steps: Iterable[Step], arrows: Iterable[Arrow]) -> Iterator[str]:
    """Yield a Graphviz digraph (graphviz.org, DOT language)."""
    yield "digraph trace {\n  node [shape=box]\n"
    for step in steps:
        colour = ", color=red" if step.status == "error" else ""
        yield f'  s{step.row} [label="{_dot(_label(step))}"{colour}]\n'
    for arrow in arrows:
        yield f'  s{arrow.cause} -> s{arrow.effect} [label="{_dot(arrow.label)}"]\n'
    yield "}\n"


def _label(step: Step) -> str:
    return visible(f"{step.kind} {step.name or '(no name)'} {step.status} @{step.step_id}")


def _mermaid(text: str) -> str:
    """Write every character that Mermaid reads as syntax as an entity of its own spelling."""
    return "".join(c if c.isalnum() or c in " _.:@()," else f"#{ord(c)};" for c in text)


def _dot(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')

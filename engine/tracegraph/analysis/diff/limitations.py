"""What a comparison cannot see, and what in it is less certain than it looks."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from tracegraph.analysis.diff.align import KIND, MOVED, NAME, Correspondence
from tracegraph.analysis.diff.sides import Side
from tracegraph.model.codes import HEURISTIC

MEANING: Final = {
    "other_source": "the runs were read by different adapters, which see and name things otherwise",
    "other_fidelity": "the sources can hold different kinds of causes",
    "partial_fidelity": "the source cannot hold every kind of cause: edges may be missing",
    "gaps": "losses and doubts met while reading: what they cost is not compared",
    "input_gaps": "losses of the input that belong to no trace: steps may be missing",
    "cyclic": "the causes form a cycle; the tree leaves its backward edges out",
    "lossy_projection": "steps with several causes: the tree shows one, the causal edges all",
    "orphans": "steps whose recorded parent is missing stand in the tree as roots",
    "heuristic_edges": "causes that were guessed from order or timing",
    "unnamed_steps": "steps without a recorded name are taken as equally named",
    "unknown_status": "steps of unknown status: an error there would not be seen",
    "guessed_pairs": "steps that correspond only by equal name or equal kind in one place",
    "moved_pairs": "steps that correspond by an equal subtree in another place",
}
"""Codes of limitations and what they mean."""


@dataclass(frozen=True, slots=True)
class Limitation:
    """One limitation.

    Attributes:
        code: key of MEANING.
        side: the run it concerns; None for both together.
        count: how many steps, edges or pairs; None where it is about the whole.
    """

    code: str
    side: Literal["a", "b"] | None
    count: int | None


def limitations(
    a: Side, b: Side, steps: Correspondence, unowned: tuple[int, int]
) -> Iterator[Limitation]:
    """Yield what applies; ``unowned`` counts the losses of each input that no trace owns."""
    if a.trace.source != b.trace.source:
        yield Limitation("other_source", None, None)
    if a.trace.fidelity != b.trace.fidelity:
        yield Limitation("other_fidelity", None, None)
    yield from _counted("a", a, unowned[0])
    yield from _counted("b", b, unowned[1])
    guessed = int(((steps.how_a == NAME) | (steps.how_a == KIND)).sum())
    moved = int((steps.how_a == MOVED).sum())
    yield from (
        Limitation(code, None, count)
        for code, count in (("guessed_pairs", guessed), ("moved_pairs", moved))
        if count
    )


def _counted(name: Literal["a", "b"], side: Side, unowned: int) -> Iterator[Limitation]:
    trace, steps = side.trace, side.trace.columns.steps
    if trace.fidelity != "full":
        yield Limitation("partial_fidelity", name, None)
    if trace.cyclic:
        yield Limitation("cyclic", name, None)
    counts = {
        "gaps": sum(gap.count for gap in trace.gaps),
        "input_gaps": unowned,
        "lossy_projection": int(steps.lossy.sum()),
        "orphans": int(steps.orphan.sum()),
        "heuristic_edges": int((side.edges[3] == HEURISTIC).sum()),
        "unnamed_steps": int((side.name < 0).sum()),
        "unknown_status": int(side.undecided.sum()),
    }
    yield from (Limitation(code, name, count) for code, count in counts.items() if count)

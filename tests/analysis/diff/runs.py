"""Runs written out step by step, and random ones."""

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from tracegraph.analysis.diff.compare import Diff, compare
from tracegraph.model.codes import EVIDENCE_CODE, KIND_CODE, STATUS_CODE
from tracegraph.model.draft import Draft
from tracegraph.model.seal import seal
from tracegraph.model.trace import Trace


@dataclass(frozen=True)
class Made:
    """A step; ``parent`` and ``causes`` (place, origin) name steps by their place in the run."""

    name: str | None = None
    kind: str = "TOOL"
    parent: int | None = None
    status: str = "ok"
    error_type: str | None = None
    causes: tuple[tuple[int, str], ...] = ()
    args: str | None = None
    tokens: int = -1
    cost: str | None = None
    status_source: str | None = None
    error_message: str | None = None
    timed: bool = True


def run(
    steps: Sequence[Made],
    *,
    order: Sequence[int] | None = None,
    prefix: str = "s",
    source: str = "made",
    evidence: str | None = None,
    gaps: dict[str, int] | None = None,
) -> Trace:
    """Make a trace. The place of a step is its start; ``order`` is that of the source."""
    draft = Draft()
    draft.begin(f"t{prefix}", source=source, file="f", gaps=gaps)
    order = range(len(steps)) if order is None else order
    rows = {
        place: draft.step(
            f"{prefix}{number}",
            kind=KIND_CODE[steps[place].kind],
            name=steps[place].name,
            status=STATUS_CODE[steps[place].status],
            status_source=steps[place].status_source,
            error_type=steps[place].error_type,
            error_message=steps[place].error_message,
            args=steps[place].args,
            start=1000 * place if steps[place].timed else -1,
            end=1000 * place + 500 if steps[place].timed else -1,
            tokens_total=steps[place].tokens,
            cost=steps[place].cost,
        )
        for number, place in enumerate(order)
    }
    for place, step in enumerate(steps):
        if step.parent is not None:
            draft.link(rows[place], rows[step.parent], "span_parent")
        for cause, origin in step.causes:
            known = EVIDENCE_CODE[evidence] if evidence else None
            draft.link(rows[place], rows[cause], origin, known)
    return Trace(seal(draft), 0)


@st.composite
def made_runs(draw: st.DrawFn, size: int = 8, names: str = "xyz") -> list[Made]:
    """Draw a run: a forest of few labels, so that twins are common, with further causes."""
    steps = []
    for place in range(draw(st.integers(1, size))):
        earlier = st.integers(0, place - 1)
        parent = draw(st.none() | earlier) if place else None
        links = draw(st.sets(earlier, max_size=2)) if place else set[int]()
        status = draw(st.sampled_from(["ok", "error", "unset"]))
        steps.append(
            Made(
                name=draw(st.none() | st.sampled_from(names)),
                kind=draw(st.sampled_from(["TOOL", "LLM", "CHAIN"])),
                parent=parent,
                status=status,
                error_type=draw(st.none() | st.just("E")) if status == "error" else None,
                causes=tuple((link, "span_link") for link in sorted(links)),
                args=draw(st.none() | st.sampled_from("pq")),
            )
        )
    return steps


def verdicts(diff: Diff) -> dict[str, bool]:
    """Return which verdicts are identical."""
    parts = ("topology", "causal_edges", "behaviour", "metrics")
    return {part: getattr(diff, part).identical for part in parts}


def different(a: Sequence[Made], b: Sequence[Made]) -> set[str]:
    """Return which verdicts on two runs are not identical."""
    found = verdicts(compare(run(a), run(b)))
    return {part for part, identical in found.items() if not identical}

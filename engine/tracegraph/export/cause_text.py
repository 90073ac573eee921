"""Causes as lines tell them: each once, whatever the number of steps that it is a cause of."""

from collections.abc import Iterable, Iterator

from tracegraph.analysis.causes import Cause
from tracegraph.model.columns import Columns


def told_once(
    columns: Columns, origin: int, causes: Iterable[Cause]
) -> Iterator[tuple[Cause, str]]:
    """Yield each cause at its first place, and of which steps it is one as the end of a line.

    Args:
        columns: one trace.
        origin: the step that the lines are about; where it is the only one, nothing is to be said.
        causes: edges, nearest first.
    """
    effects: dict[tuple[int, int, int], list[Cause]] = {}
    for cause in causes:
        effects.setdefault((cause.cause, cause.origin, cause.evidence), []).append(cause)
    for edges in effects.values():
        others = ", ".join(f"@{columns.step_id[e.effect]}" for e in edges if e.effect != origin)
        also = ", also" if edges[0].effect == origin else ""
        yield edges[0], f"{also} for {others}" if others else ""

"""Runs written down step by step, for tests of what analyses make of them."""

from collections.abc import Sequence
from typing import Any

from tracegraph.model.codes import KIND_CODE, STATUS_CODE
from tracegraph.model.columns import Columns
from tracegraph.model.draft import Draft
from tracegraph.model.seal import seal
from tracegraph.model.trace import Trace

Edge = tuple[str, str]
"""Id of a cause, and the origin of the edge."""


class Run:
    """One run; steps follow each other in time unless they say otherwise."""

    def __init__(self, *, contained: bool = True, **header: Any) -> None:
        self._draft = Draft()
        self._rows: dict[str, int] = {}
        self._edges: list[tuple[str, str, str]] = []
        self._now = 1_000
        given = {"source": "made", "file": "made", "file_digest": "00", **header}
        self._draft.begin("run", contained=contained, **given)

    def step(
        self,
        step_id: str,
        kind: str = "TOOL",
        status: str = "ok",
        *,
        name: str | None = None,
        inside: str | None = None,
        after: Sequence[Edge] = (),
        at: tuple[int, int] | None = None,
        **fields: Any,
    ) -> "Run":
        """Add a step.

        Args:
            step_id: its id, and its name unless ``name`` is given ("" for none).
            kind: its kind.
            status: its status.
            name: its name.
            inside: id of the step that it runs in.
            after: its other causes.
            at: start and end; else it begins after all before it have, and ends at once.
            fields: of the draft's step.
        """
        self._now += 10
        start, end = at or (self._now, self._now + 5)
        self._rows[step_id] = self._draft.step(
            step_id,
            kind=KIND_CODE[kind],
            name=step_id if name is None else name or None,
            status=STATUS_CODE[status],
            start=start,
            end=end,
            **fields,
        )
        self._edges += [(step_id, inside, "span_parent")] if inside else []
        self._edges += [(step_id, cause, origin) for cause, origin in after]
        return self

    def columns(self) -> Columns:
        """Return the run."""
        for effect, cause, origin in self._edges:
            self._draft.link(self._rows[effect], self._rows[cause], origin)
        return seal(self._draft)

    def trace(self) -> Trace:
        """Return the run as a trace."""
        return Trace(self.columns(), 0)


def failed(message: str | None = None, error_type: str | None = None) -> dict[str, Any]:
    """Return the fields of a failing step."""
    return {"status": "error", "error_message": message, "error_type": error_type}


LONG = (0, 1_000_000)
"""Times of a step that the whole run lies in."""

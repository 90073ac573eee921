"""Small graphs in a real database, and what compiled patterns find in them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tracegraph.graph.load import build_graph
from tracegraph.graph.session import GraphSession
from tracegraph.model.codes import KIND_CODE, STATUS_CODE
from tracegraph.model.columns import Array, Columns
from tracegraph.model.draft import Draft
from tracegraph.model.seal import seal
from tracegraph.pattern.compiler import Compiled, compile_pattern
from tracegraph.pattern.facts import CorpusFacts, facts_of
from tracegraph.pattern.load import load_adhoc
from tracegraph.pattern.plan import plan


class Graph:
    """A built graph and its connection."""

    def __init__(self, session: GraphSession, segments: Sequence[Columns]) -> None:
        self.session = session
        self.segments = segments
        self.facts: CorpusFacts = facts_of(segments, session.texts.code_of, graph_built=True)
        session.max_depth(max(30, self.facts.largest_trace))

    def execute(self, text: str, parameters: Any) -> list[Array]:
        """Run a statement as the product does."""
        table = self.session.run(text, parameters).arrow()
        return [column.to_numpy() for column in table.columns]

    def compile(self, text: str) -> Compiled:
        return compile_pattern(plan(load_adhoc(text)), self.facts)

    def find(self, text: str) -> dict[tuple[str, ...], bool]:
        """Return the step ids of each binding of a one-branch pattern, and whether it is sure."""
        (branch,) = self.compile(text).branches
        found: dict[tuple[str, ...], bool] = {}
        for statement, sure in ((branch.candidates, False), (branch.confirmed, True)):
            if statement is not None:
                keys = zip(*self.execute(statement.text, statement.parameters), strict=True)
                found |= {tuple(map(self._id, row)): sure for row in keys}
        return found

    def _id(self, key: int) -> str:
        return self.segments[int(key) >> 32].step_id[int(key) & 0xFFFFFFFF]


@contextmanager
def graph_of(folder: Path, *segments: Columns) -> Iterator[Graph]:
    path = folder / "graph.kuzu"
    build_graph(path, list(enumerate(segments)))
    with GraphSession.open(path) as session:
        yield Graph(session, segments)


def steps(*rows: dict[str, Any], links: Sequence[tuple[str, str, str]] = ()) -> Columns:
    """Make one trace.

    Args:
        rows: what :meth:`Draft.step` takes, the id as ``id``; TOOL and ok where nothing is said.
        links: (cause, effect, origin).
    """
    draft = Draft()
    draft.begin("t", source="otlp", file="f")
    number = {}
    for row in rows:
        fields = {"kind": "TOOL", "status": "ok", **row}
        fields["kind"] = KIND_CODE[fields["kind"]]
        fields["status"] = STATUS_CODE[fields["status"]]
        name = fields.pop("id")
        number[name] = draft.step(name, **fields)
    for cause, effect, origin in links:
        draft.link(number[effect], number[cause], origin)
    return seal(draft)

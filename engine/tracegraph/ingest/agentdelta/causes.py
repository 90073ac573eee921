"""What caused what in an agentdelta run.

The recorder always writes the chain ``step - 1 -> step``, so that chain is order, not cause: causes
then follow from the protocol of an agent (a model asks for tools, reads their returns, answers).
Edges that branch, join, skip or go back were made by the author of the file, and each is a cause.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from tracegraph.ingest.agentdelta.pairing import CALL, RETURN, Pairing
from tracegraph.ingest.agentdelta.records import Edge, Node
from tracegraph.ingest.losses import Losses

START, LLM, END = "start", "llm", "end"


def is_chain(nodes: Sequence[Node], edges: Sequence[Edge], is_damaged: bool) -> bool:
    """Tell whether the edges are exactly the chain over all nodes; a damaged file may lack some."""
    links = {(edge.source, edge.target) for edge in edges}
    if not all(target == source + 1 for source, target in links):
        return False
    numbers = [node.step for node in nodes]
    return is_damaged or not links or links >= set(pairwise(numbers))


@dataclass(slots=True)
class Links:
    """Author-made edges, resolved to positions among the nodes.

    Attributes:
        pairs: (cause, effect).
        orphans: nodes to which an edge leads from a step that is not there.
    """

    pairs: list[tuple[int, int]] = field(default_factory=list)
    orphans: set[int] = field(default_factory=set)

    def causes(self) -> dict[int, list[int]]:
        """Return effect -> causes."""
        found: dict[int, list[int]] = {}
        for cause, effect in self.pairs:
            found.setdefault(effect, []).append(cause)
        return found


def resolve(nodes: Sequence[Node], edges: Sequence[Edge], losses: Losses) -> Links:
    """Find the nodes that edges name by step number, each distinct edge once.

    Gap codes: ``agentdelta.dangling_edge``, ``agentdelta.ambiguous_edge``.
    """
    places: dict[int, list[int]] = {}
    for at, node in enumerate(nodes):
        places.setdefault(node.step, []).append(at)
    links = Links()
    for edge in dict.fromkeys(edges):
        causes, effects = places.get(edge.source, []), places.get(edge.target, [])
        shown = f"edge {edge.source} -> {edge.target}"
        if not causes or not effects:
            losses.add("agentdelta.dangling_edge", f"{shown}: a step is not there")
            links.orphans.update(effects if len(effects) == 1 else ())
        elif len(causes) > 1 or len(effects) > 1:
            losses.add("agentdelta.ambiguous_edge", f"{shown}: a step number is there twice")
        else:
            links.pairs.append((causes[0], effects[0]))
    return links


@dataclass(slots=True)
class Explained:
    """A node and its causes; ``is_open`` where one is recorded but cannot be told."""

    node: int
    causes: list[int]
    is_open: bool = False


def protocol_causes(nodes: Sequence[Node], pairing: Pairing) -> Iterator[Explained]:
    """Yield the nodes that are steps with their causes by the protocol.

    A call comes from the last model step (before the first: from the start); a model step from
    every call that returned since the model step before, else from the node before it; an end from
    the last return or model step.
    """
    asker: list[int] = []
    returned: list[int] = []
    undecided = 0  # returns since the last model step of which the call is not known
    said: list[int] = []  # by what came last of start, model steps and returns
    before: list[int] = []
    for at, node in enumerate(nodes):
        if node.kind == RETURN and at not in pairing.stray:
            calls = pairing.question.get(at, [])
            returned += calls
            undecided = max(0, undecided - (len(calls) - 1)) if calls else undecided + 1
            said = before = calls
            continue
        if node.kind == LLM:
            yield Explained(at, returned or before, undecided > 0)
            asker, returned, undecided = [at], [], 0
        elif node.kind == END:
            yield Explained(at, said, undecided > 0 and not said)
        elif node.kind in (CALL, RETURN):
            yield Explained(at, asker)
            returned += [at] if node.kind == RETURN else []
        else:
            yield Explained(at, [] if node.kind == START else before)
            asker = asker or ([at] if node.kind == START else [])
        if node.kind in (START, LLM, RETURN):
            said = [at]
        before = [at]

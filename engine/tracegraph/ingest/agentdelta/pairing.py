"""Which tool_return answers which tool_call in an agentdelta run: together they are one step.

The recorder writes no ids. A return belongs to the call whose id its metadata names, else to the
call that an author-made edge leads from, else to the one call that is open. Where several are open
nothing says which one it answers, so that is left open and disclosed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tracegraph.ingest.agentdelta.records import Node
from tracegraph.ingest.losses import Losses

CALL, RETURN = "tool_call", "tool_return"
_ID_KEYS = ("call_id", "tool_call_id", "id")
NAME_KEYS = ("tool", "name")


@dataclass(slots=True)
class Pairing:
    """Calls and returns of one run, by position among its nodes.

    Attributes:
        answer: call -> the return that answers it.
        question: return -> the calls that it comes from: the one that it answers, or all the open
            calls where as many returns as calls came in; empty where that is not known.
        stray: returns that no recorded call could have; each is a step of its own.
        open_calls: calls that no return can be told to answer.
        maybe_answered: those of them that some return might answer.
    """

    answer: dict[int, int] = field(default_factory=dict)
    question: dict[int, list[int]] = field(default_factory=dict)
    stray: set[int] = field(default_factory=set)
    open_calls: list[int] = field(default_factory=list)
    maybe_answered: set[int] = field(default_factory=set)


def pair(nodes: Sequence[Node], edges: Mapping[int, Sequence[int]], losses: Losses) -> Pairing:
    """Pair the returns of a run with its calls.

    Args:
        nodes: the nodes in recorded order.
        edges: node -> the nodes that author-made edges to it come from; empty for a chain.
        losses: gaps ``agentdelta.open_pairing`` and ``agentdelta.return_without_call``.
    """
    found = Pairing()
    undecided: dict[tuple[int, ...], list[int]] = {}
    for at, node in enumerate(nodes):
        if node.kind == CALL:
            found.open_calls.append(at)
        elif node.kind == RETURN:
            calls = _candidates(at, nodes, edges, found.open_calls)
            if len(calls) == 1:
                found.open_calls.remove(calls[0])
                found.answer[calls[0]] = at
                found.question[at] = calls
            elif calls:
                losses.add("agentdelta.open_pairing", f"step {node.step}: {len(calls)} calls open")
                found.maybe_answered.update(calls)
                _note_undecided(found, undecided, calls, at)
            else:
                losses.add("agentdelta.return_without_call", f"step {node.step}: no open call")
                found.stray.add(at)
    return found


def _candidates(
    at: int, nodes: Sequence[Node], edges: Mapping[int, Sequence[int]], open_calls: list[int]
) -> list[int]:
    """Return the open calls that the return could answer."""
    node = nodes[at]
    call_id = node.of(*_ID_KEYS)
    if call_id is not None:
        same = [call for call in open_calls if nodes[call].of(*_ID_KEYS) == call_id]
        if same:
            return same[-1:]  # ids repeat: the latest request is meant
    linked = [call for call in edges.get(at, ()) if call in open_calls]
    if linked:
        return linked
    name = node.text_of(*NAME_KEYS)
    return [
        call
        for call in open_calls
        if (call_id is None or nodes[call].of(*_ID_KEYS) is None)
        and (name is None or tool_name(nodes[call]) in (None, name))
    ]


def _note_undecided(
    found: Pairing, undecided: dict[tuple[int, ...], list[int]], calls: list[int], at: int
) -> None:
    """Once as many returns as calls came in, all these calls have returned, in whatever order."""
    returns = undecided.setdefault(tuple(calls), [])
    returns.append(at)
    if len(returns) == len(calls):
        for call in calls:
            found.open_calls.remove(call)
        found.question[at] = calls
        del undecided[tuple(calls)]


def tool_name(call: Node) -> str | None:
    """Return the tool that a call names: in its metadata, else in front of the parenthesis."""
    named = call.text_of(*NAME_KEYS)
    if named:
        return named
    name, parenthesis, _ = (call.content or "").partition("(")
    return name.strip() or None if parenthesis else None

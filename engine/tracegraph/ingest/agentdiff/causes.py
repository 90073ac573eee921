"""What caused what in an AgentDiff run.

``parent_id`` means two things. In traces that people write it names the step before, whose output
feeds this one; in traces that AgentDiff converted from spans it names the span around. Which one it
is, the type of the parent tells, and its children: a routing step or a thought (which is what spans
of other kinds become) with several children contains them, and they are not causes of each other
unless one was given what another made. Any other parent is the cause that the record declares. The
converters of chats write no parents but name both halves of a tool call after its id.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tracegraph.ingest.agentdiff.records import StepRecord
from tracegraph.ingest.data_flow import Flow, data_causes
from tracegraph.ingest.losses import Losses

ROUTING, MODEL, TOOL, THOUGHT = "routing", "llm_call", "tool_call", "thought"
_HOLDING = (ROUTING, THOUGHT)
_DECISION, _RESULT = "#decision", "#result"
_LOOK_BACK = 64
"""How many open calls of one id are told apart."""


@dataclass(slots=True)
class Causes:
    """The causes of a run, by position among its steps.

    Attributes:
        parents: step -> its parent.
        containers: parents that contain their children.
        edges: (effect, cause, origin).
        orphans: steps whose recorded parent is not here, or cannot be told.
        calls: tool step -> (the step that asked for it, the id of the call).
        linked: some step names a parent.
    """

    parents: dict[int, int] = field(default_factory=dict)
    containers: set[int] = field(default_factory=set)
    edges: list[tuple[int, int, str]] = field(default_factory=list)
    orphans: set[int] = field(default_factory=set)
    calls: dict[int, tuple[int, str]] = field(default_factory=dict)
    linked: bool = False


def find_causes(steps: Sequence[StepRecord], task: Any, is_indexed: bool, losses: Losses) -> Causes:
    """Find the causes of a run's steps.

    Gap codes: ``agentdiff.missing_parent``, ``agentdiff.self_parent``,
    ``agentdiff.ambiguous_parent``, ``agentdiff.parent_after_child``.

    Args:
        steps: in order.
        task: what the run was given.
        is_indexed: the order is that of the recorded indexes, so it can contradict a parent.
        losses: where doubts are disclosed.
    """
    found = Causes()
    _read_parents(steps, found, is_indexed, losses)
    children = Counter(found.parents.values())
    found.containers = {
        at for at, count in children.items() if count > 1 and steps[at].step_type in _HOLDING
    }
    for child, parent in found.parents.items():
        found.edges.append((child, parent, "span_parent" if parent in found.containers else "edge"))
    _pair_calls(steps, found)
    _follow_data(steps, task, found)
    return found


def _read_parents(
    steps: Sequence[StepRecord], found: Causes, is_indexed: bool, losses: Losses
) -> None:
    places: dict[str, list[int]] = {}
    for at, step in enumerate(steps):
        if step.step_id is not None:
            places.setdefault(str(step.step_id), []).append(at)
    for at, step in enumerate(steps):
        if step.parent_id in (None, ""):
            continue
        found.linked = True
        named = places.get(str(step.parent_id), [])
        shown = f"step {step.step_id!r}: parent {step.parent_id!r}"
        if named == [at]:
            losses.add("agentdiff.self_parent", f"{shown} is the step itself")
        elif len(named) > 1:
            losses.add("agentdiff.ambiguous_parent", f"{shown} is there {len(named)} times")
        elif not named:
            losses.add("agentdiff.missing_parent", f"{shown} is not there")
        else:
            found.parents[at] = named[0]
            if is_indexed and named[0] > at:
                losses.add("agentdiff.parent_after_child", f"{shown} has a later index")
            continue
        found.orphans.add(at)


def _pair_calls(steps: Sequence[StepRecord], found: Causes) -> None:
    """Pair the halves of tool calls that chat converters write under the id of the call.

    Ids repeat, also within one turn: a result belongs to the latest open call of its tool, else to
    the latest.
    """
    asked: dict[str, list[int]] = {}
    for at, step in enumerate(steps):
        step_id = step.step_id
        if at in found.parents or not isinstance(step_id, str):
            continue
        if step.step_type == ROUTING and step_id.endswith(_DECISION):
            asked.setdefault(step_id.removesuffix(_DECISION), []).append(at)
        elif step.step_type == TOOL and step_id.endswith(_RESULT):
            call_id = step_id.removesuffix(_RESULT)
            if asked.get(call_id):
                latest = asked[call_id][-_LOOK_BACK:]
                same = [decision for decision in latest if steps[decision].name == step.name]
                decision = (same or latest)[-1]
                asked[call_id].remove(decision)
                found.calls[at] = (decision, call_id)
                found.edges.append((at, decision, "tool_call_id"))


def _follow_data(steps: Sequence[StepRecord], task: Any, found: Causes) -> None:
    """Add what siblings made for each other: steps in one container, and steps without parent."""
    siblings: dict[int, list[int]] = {}
    for at in range(len(steps)):
        parent = found.parents.get(at, -1)
        if parent in found.containers or (parent < 0 and at not in found.orphans):
            siblings.setdefault(parent, []).append(at)
    for parent, members in siblings.items():
        if len(members) < 2:
            continue
        around = [task, steps[parent].input_payload] if parent >= 0 else [task]
        flows = (
            Flow(at, steps[at].input_payload, steps[at].output_payload, steps[at].step_type != TOOL)
            for at in members
        )
        found.edges += [
            (effect, cause, "data_flow") for effect, cause in data_causes(flows, around)
        ]

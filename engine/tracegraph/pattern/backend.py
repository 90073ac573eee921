"""Which backend answers a pattern, and why; what ``--explain-plan`` prints."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from tracegraph.errors import UnsupportedPatternError
from tracegraph.pattern.facts import CorpusFacts
from tracegraph.pattern.plan import BranchPlan, CounterPlan, PatternPlan

if TYPE_CHECKING:
    from tracegraph.pattern.compiler import Compiled
    from tracegraph.pattern.cypher_text import Statement

Backend = Literal["cypher", "matcher"]
Request = Literal["auto", "cypher", "ladybug", "matcher"]
REQUESTS: tuple[Request, ...] = get_args(Request)

MAX_REACH_STEPS = 20_000
"""Corpus size up to which ``auto`` lets Cypher follow long walks: at a million steps 30 hops take
Kuzu 18 s and no bound over a minute; the matcher's bitsets take 0.6 s."""
SHORT_WALK = 5
"""Bound of a walk that is not long."""
MAX_TUPLES = 50_000_000
"""Tuples of steps (estimated without regard to kinds) that ``auto`` lets Cypher compare:
``~>>`` over one trace of 20,000 steps took Kuzu 37 s, ``~>> [no LLM]`` over one of
300 steps 6 s, the matcher 3 ms."""
MAX_REGEX_STEPS = 20_000
"""Corpus size up to which ``auto`` lets Cypher search texts by regex: Kuzu compiles the regex anew
for each row (3 us for a short one; the preset ``timeout`` took 2.3 s on 100k steps, the matcher
0.3 s, which asks once per distinct text)."""


@dataclass(frozen=True)
class Choice:
    """A backend and the reason for it.

    Attributes:
        backend: what answers.
        reason: one sentence for people, also in machine-readable output.
        compiled: the Cypher, where that is the backend.
    """

    backend: Backend
    reason: str
    compiled: "Compiled | None" = None


def choose(plan: PatternPlan, requested: Request, facts: CorpusFacts) -> Choice:
    """Choose the backend for a pattern.

    ``ladybug`` is read as ``cypher``: which engine runs Cypher is chosen once per process.

    Raises:
        UnsupportedPatternError: Cypher was asked for and would not be exact and complete.
    """
    if requested == "matcher":
        return Choice("matcher", "the matcher was asked for")
    if requested != "auto":
        return _asked_for(plan, facts)
    if not facts.graph_built:
        return Choice("matcher", "no graph is built, and the columns answer without one")
    from tracegraph.pattern.compiler import compile_pattern

    try:
        compiled = compile_pattern(plan, facts)
    except UnsupportedPatternError as error:
        return Choice("matcher", f"Cypher is not exact here: {error.message}")
    slow = _too_slow(plan, compiled, facts)
    if slow is not None:
        return Choice("matcher", f"Cypher is slow here: {slow}")
    return Choice("cypher", "Cypher is exact and complete for this pattern", compiled)


def explain(choice: Choice, plan: PatternPlan) -> str:
    """Return what ``--explain-plan`` prints: backend, reason, Cypher, what finishing does."""
    lines = [f"backend: {choice.backend}", f"reason: {choice.reason}"]
    if choice.compiled is not None:
        lines += _cypher(choice.compiled)
    lines.append("then, over the columns:")
    lines += [f"  - {step}" for step in _finishing(plan)]
    return "\n".join(lines) + "\n"


def _asked_for(plan: PatternPlan, facts: CorpusFacts) -> Choice:
    from tracegraph.pattern.compiler import compile_pattern

    try:
        compiled = compile_pattern(plan, facts)
    except UnsupportedPatternError as error:
        raise UnsupportedPatternError(
            f"Cypher cannot answer this pattern exactly: {error.message}; "
            "use --backend auto or --backend matcher"
        ) from None
    return Choice("cypher", "Cypher was asked for", compiled)


def _too_slow(plan: PatternPlan, compiled: "Compiled", facts: CorpusFacts) -> str | None:
    """Return why Cypher would take far longer than the matcher."""
    parts: list[BranchPlan | CounterPlan] = []
    for branch, counters in plan.branches:
        parts += (branch, *counters)
    steps = facts.total_steps
    walks = [link.edge.high for part in parts for link in part.links if link.edge.kind == "cause"]
    if steps > MAX_REACH_STEPS and any(bound is None or bound > SHORT_WALK for bound in walks):
        return f"walks of more than {SHORT_WALK} edges over {steps} steps"
    if steps > MAX_REGEX_STEPS and any(
        "regexp_matches" in branch.confirmed.text for branch in compiled.branches
    ):
        return f"a regex is compiled for each of up to {steps} steps"
    if max(_tuples(part, facts) for part in parts) > MAX_TUPLES:
        return f"the steps of a trace (up to {facts.largest_trace}) are compared with each other"
    return None


def _tuples(part: BranchPlan | CounterPlan, facts: CorpusFacts) -> int:
    """Estimate how many tuples of steps a part compares.

    An edge of order or descent holds between any two steps of a scope or trace, a position that no
    edge joins may be any step; a filter between two steps looks at every third one. Causes and
    children are followed and cost next to nothing.
    """
    sides = {
        "scope": facts.largest_scope,
        "trace": facts.largest_trace,
        "descendant": facts.largest_trace,
    }
    tuples = facts.total_steps
    for link in part.links:
        tuples *= sides.get(link.edge.kind, 1)
    tuples *= max((sides.get(k.edge.kind, 1) for k in part.links if k.edge.between), default=1)
    attached = len(part.links) + (1 if isinstance(part, BranchPlan) else 0)
    loose = max(len(part.slots) - attached, 0)
    return tuples * int(facts.largest_trace**loose)


def _cypher(compiled: "Compiled") -> list[str]:
    lines = [] if compiled.setup is None else [f"first: {compiled.setup}"]
    for number, branch in enumerate(compiled.branches):
        place = f" of alternative {number + 1}" if len(compiled.branches) > 1 else ""
        what = "confirmed runs" if branch.run else "confirmed"
        if branch.candidates is None and not branch.run:
            what = "matches, none of which can be unknown"
        lines += _statement(f"{what}{place}", branch.confirmed)
        if branch.candidates is not None:
            lines += _statement(
                f"candidates{place}, of which the rest is possible", branch.candidates
            )
    return lines


def _statement(title: str, statement: "Statement") -> list[str]:
    parameters = [f"  ${name} = {value!r}" for name, value in statement.parameters.items()]
    return [f"{title}:", *(f"  {line}" for line in statement.text.splitlines()), *parameters]


def _finishing(plan: PatternPlan) -> list[str]:
    """Name what the finishing pass does with the bindings, in its order."""
    pattern = plan.pattern
    body = pattern.body
    slots = [slot for branch, _ in plan.branches for slot in branch.slots]
    steps = []
    if any(slot.run is not None for slot in slots):
        steps.append("possible runs")
    if len(plan.branches) > 1:
        steps.append("alternatives merged, the better certainty and evidence of equal tuples kept")
    steps.append("evidence of each match from its edges")
    if body.within is not None and body.having is None:
        steps.append("within")
    if body.having is not None:
        kind = "rows of having" if body.within is None else "rows of having in sliding windows"
        steps.append(f"{kind}, count >= {body.having.minimum}")
    if pattern.needs:
        steps.append(f"traces that lack {', '.join(pattern.needs)} set aside as not evaluable")
    if body.returns:
        steps.append("returned values: " + ", ".join(item.label for item in body.returns))
    steps.append("order: trace, then the seq of each position")
    return steps

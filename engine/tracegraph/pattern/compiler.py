"""A pattern's plan as Cypher for Kuzu and Ladybug.

Each branch becomes two statements: *confirmed* (all is true and no counter-match may hold) and
*candidates* (nothing is false and no counter-match is true). Candidates that are not confirmed are
the possible matches. What Cypher would answer wrongly, incompletely or explosively is refused with
its reason; the matcher answers it. The rules are those of "Compiling" in the language's contract.
"""

from dataclasses import dataclass

from tracegraph.errors import UnsupportedPatternError
from tracegraph.pattern.cypher_branch import BranchCompiler
from tracegraph.pattern.cypher_edges import DEFAULT_DEPTH
from tracegraph.pattern.cypher_runs import run_statement
from tracegraph.pattern.cypher_text import Statement
from tracegraph.pattern.facts import CorpusFacts
from tracegraph.pattern.plan import BranchPlan, CounterPlan, PatternPlan


@dataclass(frozen=True)
class CompiledBranch:
    """The statements of one alternative.

    Attributes:
        confirmed: finds the matches that are certain; columns ``k0 ..`` are the keys of the steps
            in the order of the slots. Of a run: columns ``first`` (key of its first member) and
            ``member``.
        candidates: finds these and the possible ones. None where nothing can be unknown, and for a
            run, whose possible matches the finishing pass adds.
        positions: number of slots.
        run: the one slot is a run.
    """

    confirmed: Statement
    candidates: Statement | None
    positions: int
    run: bool = False


@dataclass(frozen=True)
class Compiled:
    """A compiled pattern.

    Attributes:
        branches: one entry per alternative.
        depth: largest bound of a walk. Beyond :data:`DEFAULT_DEPTH` the connection has to be told
            before the statements run (:attr:`setup`).
    """

    branches: tuple[CompiledBranch, ...]
    depth: int

    @property
    def setup(self) -> str | None:
        """The statement that must run first on the same connection, if any.

        CALL takes no parameters; the number comes from the corpus, not from the pattern's text.
        """
        if self.depth <= DEFAULT_DEPTH:
            return None
        return f"CALL var_length_extend_max_depth={self.depth}"


def compile_pattern(plan: PatternPlan, facts: CorpusFacts) -> Compiled:
    """Compile a plan.

    Raises:
        UnsupportedPatternError: with the reason why Cypher would not be exact and complete.
    """
    if plan.pattern.scope == "session":
        raise UnsupportedPatternError("scope session reads several traces as one")
    depth = 0
    branches = []
    for branch, counters in plan.branches:
        if any(slot.run is not None for slot in branch.slots):
            statement = _run(branch, counters, facts)
            branches.append(CompiledBranch(statement, None, len(branch.slots), run=True))
            continue
        body = plan.pattern.body
        compiler = BranchCompiler(
            branch,
            exact=plan.pattern.confidence == "exact",
            window=body.within if body.having is None else None,
            facts=facts,
        )
        confirmed, candidates = compiler.statements(counters)
        unknown = candidates if candidates != confirmed else None
        branches.append(CompiledBranch(confirmed, unknown, len(branch.slots)))
        depth = max(depth, compiler.depth)
    return Compiled(tuple(branches), depth)


def _run(branch: BranchPlan, counters: tuple[CounterPlan, ...], facts: CorpusFacts) -> Statement:
    if len(branch.slots) > 1:
        raise UnsupportedPatternError("a run beside other positions")
    if counters:
        raise UnsupportedPatternError("'unless' of a run")
    return run_statement(branch, facts)

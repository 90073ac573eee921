"""Checks of a pattern when it is loaded (pattern-language contract, "Checked when loaded").

What passes here has one meaning that both backends can rely on: every name is bound, every
comparison is typed, every regex is inside the subset.
"""

import re
from collections.abc import Mapping

from tracegraph.pattern.ast import Attr, Bind, Body, Branch, Edge, Field, Param, Path, Run
from tracegraph.pattern.exactness import check_exact, check_review
from tracegraph.pattern.fields import FEATURES, KINDS, nearest
from tracegraph.pattern.labels import print_operand
from tracegraph.pattern.operand_types import Bound, Scope, Typer
from tracegraph.pattern.parsed import Parsed
from tracegraph.pattern.walk import mentioned, nodes

_ID = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


def validate_file(file: tuple[Parsed, ...]) -> None:
    """Check all patterns of a file; an ``id@version`` stands in it once.

    Raises:
        PatternError: with the place of the first thing that is wrong.
    """
    seen = set()
    for parsed in file:
        key = (parsed.pattern.id, parsed.pattern.version)
        if key in seen:
            raise parsed.error(f"'{key[0]} v{key[1]}' is in this file twice", "id")
        seen.add(key)
        validate(parsed)


def validate(parsed: Parsed) -> None:
    """Check one pattern.

    Raises:
        PatternError: with the place of the first thing that is wrong.
    """
    _Validator(parsed).pattern()


class _Validator:
    def __init__(self, parsed: Parsed) -> None:
        self.parsed = parsed
        self.typer = Typer(parsed)
        self.error = parsed.error

    def pattern(self) -> None:
        pattern = self.parsed.pattern
        self.headers()
        branches = [self.branch(branch) for branch in pattern.body.branches]
        some = {name for names in branches for name in names}
        for names in branches:
            elsewhere = dict.fromkeys(some - set(names), "is not bound by every alternative")
            self.clauses(pattern.body, names, elsewhere)
        self.window(pattern.body)
        self.having(pattern.body)
        self.returns(pattern.body)
        check_exact(self.parsed)
        check_review(self.parsed)

    def headers(self) -> None:
        pattern = self.parsed.pattern
        if not _ID.fullmatch(pattern.id):
            raise self.error(
                f"'{pattern.id}' is no pattern id: lower case words joined by '-'", "id"
            )
        if pattern.version < 1:
            raise self.error("versions start at v1", "version")
        for need in pattern.needs:
            if need not in FEATURES:
                raise self.error(f"unknown need '{need}'{nearest(need, FEATURES)}", "needs")
        used = {node.name for node in nodes(pattern.body) if isinstance(node, Param)}
        for name, default in pattern.params:
            if isinstance(default, Param):
                raise self.error("the default of a param is a value", f"param {name}")
            if name not in used:
                raise self.error(f"the param '@{name}' is never used", f"param {name}")

    # ------------------------------------------------------------ paths

    def branch(self, branch: Branch) -> dict[str, Bound]:
        names: dict[str, Bound] = {}
        for position, path in enumerate(branch.paths):
            if position and not any(name in names for name in mentioned(path)):
                raise self.error("an 'also' path needs a '$name' of a step before it", path)
            self.path(path, names, _later(branch.paths[position:]))
        return names

    def path(self, path: Path, names: dict[str, Bound], absent: Mapping[str, str]) -> None:
        """Check a path and add the steps that it binds to ``names``."""
        for position, step in enumerate(path.steps):
            first = position == 0
            if not first:
                self.edge(path.edges[position - 1], Scope(names, absent, _GAP_IN_FILTER))
            if not isinstance(step, Bind):
                self.typer.name(step.name, Scope(names, absent), step)
                continue
            if step.name is not None and step.name in names:
                raise self.error(
                    f"the name '{step.name}' is taken: write '${step.name}' for the same step",
                    step,
                )
            self.step(step, Scope(names, absent, _GAP_OF_FIRST if first else ""))
            if step.name is not None:
                names[step.name] = Bound(step, first)

    def step(self, step: Bind, scope: Scope) -> None:
        if unknown := [kind for kind in step.kinds if kind not in KINDS]:
            raise self.error(f"unknown kind '{unknown[0]}'{nearest(unknown[0], KINDS)}", step)
        if step.run is not None:
            self.run(step.run)
        if step.where is not None:
            self.typer.condition(step.where, scope)

    def run(self, run: Run) -> None:
        if run.minimum < 1:
            raise self.error("a run holds at least one step: {1,} or more", run)
        if run.period is not None and not 1 <= run.period[0] <= run.period[1]:
            low, high = run.period
            raise self.error(f"'period {low}..{high}' has to rise from 1 or more", run)
        for position, field in enumerate(run.same):
            found = self.typer.field(field, (run, position), run)
            if field == "gap" or found == "signals":
                raise self.error(f"'same' does not take '{field}'", (run, position), run)
            if field in run.same[:position]:
                raise self.error(f"'{field}' stands twice", (run, position), run)

    def edge(self, edge: Edge, scope: Scope) -> None:
        if edge.low < 1:
            raise self.error("a causal walk has at least one edge: {1,...}", edge)
        if edge.high is not None and edge.low > edge.high:
            raise self.error(f"the bounds {{{edge.low},{edge.high}}} are the wrong way round", edge)
        between = edge.between
        if between is None:
            return
        if edge.kind == "child" or (edge.kind == "cause" and edge.high == 1):
            sign = "/" if edge.kind == "child" else "->"
            raise self.error(
                f"nothing lies inside '{sign}': filters stand after ->>, ->{{m,n}}, //, ~>, ~>>",
                between,
            )
        if between.at_most and edge.kind not in ("scope", "trace"):
            raise self.error("'at most' stands after ~> and ~>> only", between)
        if between.where is not None:
            self.typer.condition(between.where, scope)

    # ------------------------------------------------------------ clauses after the branches

    def clauses(self, body: Body, names: dict[str, Bound], elsewhere: Mapping[str, str]) -> None:
        """Check what follows all branches against the names of one of them."""
        for path in body.unless:
            if not any(name in names or name in elsewhere for name in mentioned(path)):
                raise self.error("an 'unless' path needs a '$name' of the match", path)
            if len(path.steps) == 1 and not isinstance(path.steps[0], Bind):
                raise self.error("an 'unless' path needs an edge or a step of its own", path)
            self.path(path, dict(names), {**_later((path,)), **elsewhere})
        scope = Scope(names, elsewhere, _GAP_OF_FIRST)
        for operand in body.having.by if body.having else ():
            if self.typer.operand(operand, scope) == "signals":
                raise self.error("'by' does not take signals", operand)
        for item in body.returns:
            self.typer.operand(item.operand, scope)

    def window(self, body: Body) -> None:
        window = body.within
        if window is None:
            return
        if (window.ns or window.steps or 0) < 0:
            raise self.error("a window is not negative", window)
        if window.steps is not None and body.having is not None:
            raise self.error("with 'having', 'within' takes a duration such as 60s", window)

    def having(self, body: Body) -> None:
        having = body.having
        if having is None:
            return
        if having.minimum < 1:
            raise self.error("'having count' starts at 1", having)
        for field in having.by:
            if isinstance(field, Field) and not _one_step(body):
                raise self.error(
                    f"a match of several steps has no one {field.field}: "
                    f"write '$name.{field.field}'",
                    field,
                )

    def returns(self, body: Body) -> None:
        labels = set()
        for item in body.returns:
            if body.having is not None and item.operand not in body.having.by:
                raise self.error(
                    "a row of 'having' returns its 'by' fields only: "
                    + ", ".join(map(print_operand, body.having.by)),
                    item.operand,
                )
            if body.having is None and isinstance(item.operand, Field | Attr):
                written = print_operand(item.operand)
                raise self.error(f"of which step? write '$name.{written}'", item.operand)
            if item.label in labels:
                raise self.error(f"two returned values are called '{item.label}'", item)
            labels.add(item.label)


_GAP_OF_FIRST = "gap needs a step on the left: this is the first step of its path"
_GAP_IN_FILTER = "a filter between two steps has no gap"


def _later(paths: tuple[Path, ...]) -> dict[str, str]:
    """Return the names that paths bind; what is bound already is found before these."""
    return {
        step.name: "is used before the step that it names"
        for path in paths
        for step in path.steps
        if isinstance(step, Bind) and step.name is not None
    }


def _one_step(body: Body) -> bool:
    """Tell whether every match is one step, so that bare fields mean that step's."""
    for branch in body.branches:
        steps = [step for path in branch.paths for step in path.steps if isinstance(step, Bind)]
        if len(steps) != 1 or steps[0].run is not None:
            return False
    return True

"""How a failure travels: which failing steps only pass on the failure of another.

A step passes on the failure of a step inside it, as an exception does that nobody caught, or of a
step that it was caused by. What argues against it: the other failure was superseded; the record
shows that the run went on from it; the errors are recorded and differ. A step for which nothing is
left failed by itself, whatever failed before it.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tracegraph.analysis.links import Links
from tracegraph.analysis.recovery import Success
from tracegraph.model.codes import STATUS_CODE
from tracegraph.model.columns import Columns

_OK, _ERROR = STATUS_CODE["ok"], STATUS_CODE["error"]
_QUOTABLE = 8
"""Characters from which on an error text inside another one is a quotation, not a coincidence."""


@dataclass(frozen=True, slots=True)
class _Inside:
    """A failing step inside another one.

    Attributes:
        row: the step.
        branch: the step directly in the outer one through which it lies in it.
        shielded: a step between the two ended well.
    """

    row: int
    branch: int
    shielded: bool


def sources(
    columns: Columns, links: Links, failing: Sequence[int], recovered: Mapping[int, Success]
) -> dict[int, int]:
    """Return for each failing step that passes a failure on the step it has it from."""
    travel = _Travel(columns, links, recovered)
    inside = travel.nearest_inside(failing)
    found: dict[int, int] = {}
    for row in failing:
        source = travel.from_inside(row, inside.get(row, []))
        if source is None:
            source = travel.from_cause(row)
        if source is not None:
            found[row] = source
    return found


class _Travel:
    def __init__(self, columns: Columns, links: Links, recovered: Mapping[int, Success]) -> None:
        steps = columns.steps
        self._columns, self._links, self._recovered = columns, links, recovered
        self._status: list[int] = steps.status.tolist()
        self._work = list(zip(steps.kind.tolist(), steps.name.tolist(), strict=True))
        self._begin: list[int] = steps.o0.tolist()
        self._end: list[int] = steps.o1.tolist()
        self._type: list[int] = steps.error_type.tolist()
        self._message: list[int] = steps.error_message.tolist()
        self._latest = self._latest_children()

    def nearest_inside(self, failing: Sequence[int]) -> dict[int, list[_Inside]]:
        """Return for each failing step the outermost failing steps inside it, ascending."""
        outer: list[tuple[int, int, bool] | None] = []
        for row, container in enumerate(self._links.container):
            if container < 0:
                outer.append(None)
            elif self._status[container] == _ERROR:
                outer.append((container, row, False))
            else:
                above = outer[container]
                shielded = self._status[container] == _OK
                outer.append(above and (above[0], above[1], above[2] or shielded))
        inside: defaultdict[int, list[_Inside]] = defaultdict(list)
        for row in failing:
            found = outer[row]
            if found is not None:
                inside[found[0]].append(_Inside(row, found[1], found[2]))
        return inside

    def from_inside(self, row: int, inside: Sequence[_Inside]) -> int | None:
        """Return the step inside whose failure a step passes on: of several, the last."""
        passed_on: list[tuple[bool, int]] = []
        for other in inside:
            same = self._is_same(row, other.row)
            if other.row not in self._recovered and (
                same or (not other.shielded and self._may_pass_on(row, other, same))
            ):
                passed_on.append((bool(same), other.row))
        return max(passed_on)[1] if passed_on else None

    def from_cause(self, row: int) -> int | None:
        """Return the failing cause whose failure a step passes on.

        A step that does its cause's work over again is another try, with a failure of its own.
        """
        passed_on: list[tuple[bool, int]] = []
        for cause in self._links.causes[row]:
            if self._status[cause] != _ERROR or cause in self._recovered:
                continue
            is_retry = self._work[cause] == self._work[row] and self._work[row][1] >= 0
            same = self._is_same(row, cause)
            if not is_retry and same is not False:
                passed_on.append((bool(same), cause))
        return max(passed_on)[1] if passed_on else None

    def _may_pass_on(self, row: int, other: _Inside, same: bool | None) -> bool:
        """Judge a failure inside that the error texts do not prove to be the same."""
        if any(self._status[effect] != _ERROR for effect in self._links.effects[other.row]):
            return False  # the run went on from it
        return same is None or not self._began_after(row, other)

    def _began_after(self, row: int, other: _Inside) -> bool:
        """Tell whether another part of a step began after a failure inside it had ended."""
        end = self._end[other.row]
        latest = (begin for begin, child in self._latest[row] if child != other.branch)
        return end >= 0 and next(latest, -1) >= end

    def _latest_children(self) -> dict[int, list[tuple[int, int]]]:
        """Return the two parts of each failing step that began last, as (begin, row)."""
        latest: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for row, container in enumerate(self._links.container):
            if container >= 0 and self._status[container] == _ERROR:
                both = [*latest[container], (self._begin[row], row)]
                latest[container] = sorted(both, reverse=True)[:2]
        return latest

    def _is_same(self, outer: int, inner: int) -> bool | None:
        """Tell whether two failing steps record the same error; None where it cannot be told."""
        text = self._columns.text
        one, other = self._message[outer], self._message[inner]
        if one >= 0 and other >= 0:
            quoted, quoting = text(other) or "", text(one) or ""
            return one == other or (len(quoted) >= _QUOTABLE and quoted in quoting)
        one, other = self._type[outer], self._type[inner]
        if one >= 0 and other >= 0:
            return _unqualified(text(one)) == _unqualified(text(other))
        return None


def _unqualified(name: str | None) -> str:
    """Return the name of a type without its module, which not every exporter writes."""
    return (name or "").rpartition(".")[2]

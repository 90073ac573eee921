"""Which failures the record shows to be superseded by a later success.

The success has the kind and the name of the failing step, and was a later try of the same work:
the same call answered again, a call that the model asked for after it had read the failure, or
another run under the same parent. A success beside the failure (a parallel call, another item of a
fan-out) supersedes nothing, and neither does a step whose outcome is not recorded.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from tracegraph.analysis.links import Links
from tracegraph.analysis.maxima import Maxima
from tracegraph.model.codes import KIND_CODE, STATUS_CODE, UNKNOWN
from tracegraph.model.columns import Columns

Basis = Literal["same_call", "model", "same_parent"]
_OK = STATUS_CODE["ok"]
_LLM = KIND_CODE["LLM"]
_ANY = -2
_Work = tuple[int, int]
"""Kind and name: what a later try has in common with the one that failed."""


@dataclass(frozen=True, slots=True)
class Success:
    """The step that superseded a failure, and how it is known to be a later try of it."""

    row: int
    basis: Basis


def superseded(columns: Columns, links: Links, failing: Iterable[int]) -> dict[int, Success]:
    """Return what superseded each failing step, for those that the record shows superseded."""
    if not (columns.steps.status == _OK).any():
        return {}
    tries = _Tries(columns, links)
    asked = _Conversations(tries)
    found: dict[int, Success] = {}
    for row in failing:
        if tries.name[row] < 0:  # nothing can be told to be the same work
            continue
        again = tries.same_call(row)
        if again is not None:
            found[row] = Success(again, "same_call")
        elif tries.reader(row) is not None:
            again = asked.next_success(row)
            if again is not None:
                found[row] = Success(again, "model")
        else:
            again = tries.same_parent(row)
            if again is not None:
                found[row] = Success(again, "same_parent")
    return found


class _Tries:
    """The successes of a trace by what they are tries of, in the order in which they began."""

    def __init__(self, columns: Columns, links: Links) -> None:
        steps = columns.steps
        self.links = links
        self.kind: list[int] = steps.kind.tolist()
        self.name: list[int] = steps.name.tolist()
        self.ok: list[bool] = (steps.status == _OK).tolist()
        self._parent: list[int] = steps.parent.tolist()
        self._begin: list[int] = steps.o0.tolist()
        self._end: list[int] = steps.o1.tolist()
        self._call: list[int] = steps.tool_call_id.tolist()
        self._args: list[int] = steps.args.tolist()
        self._calls: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
        self._siblings: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
        self._set_off: dict[tuple[int, ...], Maxima] = {}
        for row in sorted(range(len(self.ok)), key=lambda row: (self._begin[row], row)):
            if not self.ok[row] or self.name[row] < 0:
                continue
            for key in self._call_keys(row):
                self._calls[key].append(row)
            if self._parent[row] >= 0:
                for args in (self._args[row], _ANY):
                    self._siblings[self._parent[row], args, *self.work(row)].append(row)

    def work(self, row: int) -> _Work:
        """Return what a step is a try of."""
        return self.kind[row], self.name[row]

    def is_model(self, row: int) -> bool:
        """Tell whether a step is a call of a model."""
        return self.kind[row] == _LLM

    def requester(self, row: int) -> int | None:
        """Return the model step that asked for a step, the latest if several."""
        return next((c for c in reversed(self.links.causes[row]) if self.is_model(c)), None)

    def reader(self, row: int) -> int | None:
        """Return the first model step that went on from a step."""
        return next((e for e in self.links.effects[row] if self.is_model(e)), None)

    def same_call(self, row: int) -> int | None:
        """Return the first later success of the same request: by call id, or by arguments."""
        for key in self._call_keys(row):
            began = self._calls.get(key, [])
            place = self._place_after(began, row)
            if place < len(began):
                return began[place]
        return None

    def same_parent(self, row: int) -> int | None:
        """Return the first later success under the same parent that was begun after the failure.

        What was set off before the failure (the other items of a fan-out) is no later try, and
        with other arguments it is other work.
        """
        args = self._args[row]
        tries = [e for e in self.links.effects[row] if self._is_sibling(e, row)]
        for wanted in (_ANY,) if args < 0 else (args, UNKNOWN):
            again = self._sibling_after(row, wanted)
            tries += [] if again is None else [again]
        return min(tries, key=lambda each: (self._begin[each], each), default=None)

    def _sibling_after(self, row: int, args: int) -> int | None:
        """Return the first success that began, and was set off, after a failure had ended."""
        key = (self._parent[row], args, *self.work(row))
        siblings = self._siblings.get(key)
        if siblings is None or self._end[row] < 0:
            return None
        if key not in self._set_off:
            self._set_off[key] = Maxima([self._set_off_at(each) for each in siblings])
        place = self._set_off[key].first_from(self._place_after(siblings, row), self._end[row])
        return None if place is None else siblings[place]

    def _set_off_at(self, row: int) -> int:
        """Return when what set off a step began; where that is not recorded, when it did itself."""
        return self._begin[max(self.links.causes[row], default=row)]

    def _is_sibling(self, other: int, row: int) -> bool:
        return (
            self.ok[other]
            and self.work(other) == self.work(row)
            and self._parent[other] == self._parent[row] >= 0
            and (self._args[row] < 0 or self._args[other] in (UNKNOWN, self._args[row]))
        )

    def _call_keys(self, row: int) -> Iterable[tuple[int, ...]]:
        asked_by = self.requester(row)
        if asked_by is None:
            return
        for sort, value in enumerate((self._call[row], self._args[row])):
            if value >= 0:
                yield (sort, asked_by, value, *self.work(row))

    def _place_after(self, began: list[int], row: int) -> int:
        """Return from where on steps began after a failure had ended; their number if unknown."""
        if self._end[row] < 0:
            return len(began)
        return bisect_left(began, self._end[row], key=self._begin.__getitem__)


class _Conversations:
    """Model steps as conversations: from each, the next one that read what it had asked for."""

    def __init__(self, tries: _Tries) -> None:
        self._tries = tries
        links = tries.links
        self._asked: dict[int, dict[_Work, int]] = {}
        self._before: defaultdict[int, list[int]] = defaultdict(list)
        self._last: list[int] = []
        for model in (row for row in range(len(tries.kind)) if tries.is_model(row)):
            asked = [row for row in links.effects[model] if not tries.is_model(row)]
            self._asked[model] = {}
            for row in asked:
                if tries.ok[row] and tries.name[row] >= 0:
                    self._asked[model].setdefault(tries.work(row), row)
            follow = [row for row in links.effects[model] if tries.is_model(row)]
            follow += [reader for row in asked if (reader := tries.reader(row)) is not None]
            later = min((row for row in follow if row > model), default=None)
            if later is None:
                self._last.append(model)
            else:
                self._before[later].append(model)
        self._nearest: dict[int, int] | None = None

    def next_success(self, row: int) -> int | None:
        """Return the first success of the same work that was asked for after a failure was read."""
        if self._nearest is None:
            self._nearest = self._all_nearest()
        return self._nearest.get(row)

    def _all_nearest(self) -> dict[int, int]:
        """Answer for every failing step at once: one walk from the ends of all conversations.

        On the way back from the end, the work that was asked for last is what is met first on the
        way forward; so a stack for each kind of work answers in constant time.
        """
        tries = self._tries
        waiting: defaultdict[int, list[int]] = defaultdict(list)
        for row, is_ok in enumerate(tries.ok):
            reader = None if is_ok or tries.name[row] < 0 else tries.reader(row)
            if reader is not None:
                waiting[reader].append(row)
        ahead: defaultdict[_Work, list[int]] = defaultdict(list)
        nearest: dict[int, int] = {}
        path = [(model, False) for model in reversed(self._last)]
        while path:
            model, is_left = path.pop()
            asked = self._asked[model]
            if is_left:
                for work in asked:
                    ahead[work].pop()
                continue
            for work, row in asked.items():
                ahead[work].append(row)
            for row in waiting.get(model, ()):
                if ahead[tries.work(row)]:
                    nearest[row] = ahead[tries.work(row)][-1]
            path.append((model, True))
            path += [(earlier, False) for earlier in reversed(self._before.get(model, []))]
        return nearest

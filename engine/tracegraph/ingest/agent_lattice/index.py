"""Where the rows of each trace lie in an agent-lattice file.

Sessions are interleaved in one file and a trace is known only once all its runs are, so a first
pass over the lines notes places and nothing else; then traces are read one by one, so that no more
than one of them is in memory.
"""

from array import array
from bisect import bisect_left, insort
from collections.abc import Iterator
from dataclasses import dataclass, field

from tracegraph.errors import InputError
from tracegraph.ingest.agent_lattice.records import Head, decode_head
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.source import Source


def _places() -> "array[int]":
    return array("Q")


@dataclass(slots=True)
class RunPlaces:
    """The rows of one run.

    Attributes:
        run_id: its id.
        session_id: as its first row that names one says.
        parent_id: ``parent_run_id``, likewise.
        numbers: line numbers, from 1.
        starts: byte offsets of the lines.
        sizes: bytes of the lines.
        conflicts: rows that name another session or parent than the rows before.
    """

    run_id: str
    session_id: str | None = None
    parent_id: str | None = None
    numbers: "array[int]" = field(default_factory=_places)
    starts: "array[int]" = field(default_factory=_places)
    sizes: "array[int]" = field(default_factory=_places)
    conflicts: int = 0

    def add(self, head: Head, number: int, start: int, size: int) -> None:
        """Note a row."""
        self.numbers.append(number)
        self.starts.append(start)
        self.sizes.append(size)
        self.session_id = self.session_id or head.session_id
        self.parent_id = self.parent_id or head.parent_run_id
        same_session = head.session_id in (None, self.session_id)
        if not same_session or head.parent_run_id not in (None, self.parent_id):
            self.conflicts += 1


class Index:
    """The runs of a file.

    Attributes:
        runs: by id, in order of first appearance.
    """

    def __init__(self, source: Source, outside: Losses) -> None:
        """Note the rows of a file.

        Gap codes, of the file: ``agent_lattice.torn_line``, ``agent_lattice.unreadable_line``,
        ``agent_lattice.unreadable_record``, ``agent_lattice.missing_row``.
        """
        self.runs: dict[str, RunPlaces] = {}
        self._source = source
        self._outside = outside
        uncounted = 0
        counted = _Counters()
        silent = Losses(source.name, strict=False)  # the rows are decoded again, then it counts
        for number, start, line in source.lines():
            head = self._head(line, number, start, silent)
            if head is None:
                uncounted += 1
                continue
            if head.seq is None or head.seq < 1:
                uncounted += 1
            else:
                counted.note(head.seq)
            run = self.runs.setdefault(head.run_id, RunPlaces(head.run_id))
            run.add(head, number, start, len(line))
        gone = counted.missing - uncounted
        if gone > 0:
            outside.add("agent_lattice.missing_row", f"{gone} counted rows are not there", gone)

    def _head(self, line: bytes, number: int, start: int, silent: Losses) -> Head | None:
        place = f"line {number}"
        try:
            head = decode_head(line, f"{self._source.name}: {place}", silent)
        except InputError as error:
            is_torn = start + len(line) == len(self._source)
            code = "agent_lattice.torn_line" if is_torn else "agent_lattice.unreadable_line"
            self._outside.add(code, str(error))
            return None
        if head is None:
            what = f"{place} names no run or no type"
            self._outside.add("agent_lattice.unreadable_record", what)
        return head

    def traces(self) -> Iterator[tuple[str, list[RunPlaces]]]:
        """Yield (id, runs) of each trace: the runs below one root, in order of first appearance.

        The root is the run without parent; where the parent is not in the file, the id of the
        parent stands for it, so that siblings stay together.
        """
        root: dict[str, str] = {}
        found: dict[str, list[RunPlaces]] = {}
        for run in self.runs.values():
            found.setdefault(self._root(run.run_id, root), []).append(run)
        yield from found.items()

    def _root(self, run_id: str, root: dict[str, str]) -> str:
        """Return the root above a run; ``root`` remembers what was climbed before."""
        path: dict[str, None] = {}
        at = run_id
        while at not in root and at not in path:
            path[at] = None
            run = self.runs.get(at)
            at = at if run is None or run.parent_id is None else run.parent_id
        # The end of the climb is a root, a run that is not here, or where a cycle was entered.
        above = root.get(at, at)
        root.update(dict.fromkeys(path, above))
        return above


class _Counters:
    """The counters of the tracers that wrote a file: each starts at 1 and leaves no number out.

    Several may write to one path, one after another or in turn. A row is taken to be the next of
    the counter that it follows, so what is missing is never counted too high.

    Attributes:
        missing: rows that a counter skips: a hook held them back, or they are lost.
    """

    def __init__(self) -> None:
        self.missing = 0
        self._last: list[int] = []

    def note(self, seq: int) -> None:
        """Note the number of a row."""
        at = bisect_left(self._last, seq)
        if at < len(self._last) and self._last[at] == seq and seq > 1:
            return  # written twice
        if at and seq > 1:
            self.missing += seq - self._last.pop(at - 1) - 1
        insort(self._last, seq)

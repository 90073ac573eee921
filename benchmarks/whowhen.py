"""How often the labelled step of a Who&When run is among the first that ``why`` would look at.

``python benchmarks/whowhen.py [FOLDER]`` prints Markdown. FOLDER holds files of the data set
(arXiv 2505.00212), all 184 or some. Nothing was fitted to them: the rules and their order, in
``tracegraph.analysis.candidates``, were written down before this was run for the first time, and
are the same for every format. The labels are read from the files' JSON, not through tracegraph.
"""

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tracegraph.workflows.load import load
from tracegraph.workflows.why import why

SUBSETS = ("Algorithm-Generated", "Hand-Crafted")
_SHARED = Path(__file__).resolve().parents[2] / "shared" / "traces" / "whowhen"
_NOTES = """
Messages are counted from 0, as `mistake_step` counts them. "First three" are the first three of the
list; of a prior, the message and the two after it; of a random step, three different ones. A random
step is the expectation over the messages of agents.

Published, on all 184 runs: always step 1: 19 % (as quoted to us, without saying whether that counts
from 0, so both are measured above); the best LLM judge of the paper: 14.2 %. Figures of a part of
the runs are no figures of all of them.
"""


@dataclass(frozen=True, slots=True)
class Run:
    """One file.

    Attributes:
        subset: which part of the data set it belongs to; only runs of CaptainAgent name authors
            beside their roles.
        label: place of the labelled message, from 0.
        steps: how many messages are of agents.
        candidates: places of the candidates, best first.
        reason: why the first one is the first.
    """

    subset: str
    label: int
    steps: int
    candidates: tuple[int, ...]
    reason: str


def read_run(path: Path) -> Run:
    """Read the label of a run, and ask ``why`` about it."""
    record = json.loads(path.read_text(encoding="utf-8"))
    history = record["history"]
    with load([str(path)], cache=False) as corpus:
        told = why(corpus, str(path), None)
        step_id = told.analysis.columns.step_id
        return Run(
            subset=SUBSETS[not any("name" in message for message in history)],
            label=int(record["mistake_step"]),
            steps=len(told.analysis.trace),
            candidates=tuple(int(step_id[each.row]) for each in told.candidates),
            reason=told.candidates[0].reason,
        )


def hits(runs: Iterable[Run], first: int) -> int:
    """Count the runs whose labelled message is among the first candidates."""
    return sum(run.label in run.candidates[:first] for run in runs)


def prior_hits(runs: Iterable[Run], place: int, first: int) -> int:
    """Count the runs whose labelled message is at a place, or one of those that follow it."""
    return sum(place <= run.label < place + first for run in runs)


def random_hits(runs: Iterable[Run], first: int) -> float:
    """Return how many runs are hit by steps drawn at random, in expectation."""
    return sum(min(first, run.steps) / run.steps for run in runs)


def lines(runs: Sequence[Run]) -> Iterator[str]:
    """Yield the report."""
    groups = {"all": list(runs)}
    groups |= {subset: [run for run in runs if run.subset == subset] for subset in SUBSETS}
    held = {name: group for name, group in groups.items() if group}
    heads = [f"{name} ({len(group)}): {what}" for name, group in held.items() for what in _WHAT]
    yield _row("guess", *heads)
    yield _row(*["---"] * (1 + len(heads)))
    for name, count in _GUESSES.items():
        cells = [_share(count(group, n), group) for group in held.values() for n in (1, 3)]
        yield _row(name, *cells)
    yield ""
    yield _row("reason of the first candidate", "runs", "labelled step")
    yield _row("---", "---", "---")
    found = Counter(run.reason for run in runs)
    for reason, number in sorted(found.items(), key=lambda item: (-item[1], item[0])):
        right = hits((run for run in runs if run.reason == reason), 1)
        yield _row(f"`{reason}`", str(number), str(right))
    yield _NOTES


_WHAT = ("first", "first three")
_GUESSES: dict[str, Callable[[Sequence[Run], int], float]] = {
    "`tracegraph why`": hits,
    "always message 0": lambda runs, first: prior_hits(runs, 0, first),
    "always message 1": lambda runs, first: prior_hits(runs, 1, first),
    "a random step": random_hits,
}


def _share(hit: float, runs: Sequence[Run]) -> str:
    number = f"{hit}" if isinstance(hit, int) else f"{hit:.1f}"
    return f"{number} of {len(runs)} ({100 * hit / len(runs):.0f} %)"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", default=_SHARED)
    folder = parser.parse_args().folder
    files = sorted(folder.rglob("*.json"))
    if not files:
        raise SystemExit(f"{folder}: holds no .json files of Who&When")
    for line in lines([read_run(path) for path in files]):
        print(line)


if __name__ == "__main__":
    main()

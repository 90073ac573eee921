"""Measure tracegraph and print a Markdown table: ``python benchmarks/run.py``.

Everything is a ratio of two measures of one run of this script, so that tables of different
machines compare: reading against ``orjson.loads`` of the same bytes, queries against
agent-tracegraph on the same files where ``--peer`` (or TRACEGRAPH_BENCH_PEER) names its command.
The corpora are made by ``generate.py`` and kept under ``--work`` for the next time.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from generate import write_corpus
from processes import Cost, median, run

_HERE = Path(__file__).resolve().parent
_PRESETS = ("tool-retry-failure", "tool-repeat-failure-heuristic")
_UNITS = {"k": 1_000, "m": 1_000_000}
_SEED = 1
_PEER_TOTAL = re.compile(r"(\d+) match\(es\)")
_READ = (("artifact", 100_000, 100), ("artifact", 100_000, 1_000), ("otlp", 20_000, 100))
"""Form, steps in all and steps of a trace of what is read."""
_INGESTED = (100_000, 100)


class Bench:
    """One benchmark run."""

    def __init__(self, args: argparse.Namespace, work: Path) -> None:
        self.args = args
        self.work = work
        self.cache = work / "cache"
        # The other tool has the same import name, so that it must not see this source tree.
        self.bare = {key: v for key, v in os.environ.items() if key != "PYTHONPATH"}
        self.env = {
            **self.bare,
            # As installed: compiled once, before the runs that count.
            "PYTHONDONTWRITEBYTECODE": "",
            "PYTHONPYCACHEPREFIX": str(work / "bytecode"),
            "PYTHONPATH": str(_HERE.parent / "engine"),
            "TRACEGRAPH_CACHE_DIR": str(self.cache),
        }

    def lines(self) -> Iterator[str]:
        """Yield the report line by line, as measures come in."""
        yield "| what | tracegraph | against | ratio |"
        yield "|---|---|---|---|"
        yield self.version()
        for form, total, size in _READ:
            yield self.reading(self.corpus(form, total, size), form, size)
        yield self.ingest(self.corpus("artifact", *_INGESTED))
        for steps in self.args.sizes:
            for preset in _PRESETS:
                yield from self.query(preset, steps)

    def version(self) -> str:
        """Whole process of ``--version``."""
        ours = self.repeat(self.ours("--version"))
        bare = self.repeat([sys.executable, "-c", "pass"])
        row = f"--version | {_show(ours)} | python -c pass: {_show(bare)}"
        if self.args.peer:
            row += f"; peer: {_show(self.repeat([self.args.peer, '--version'], self.bare))}"
        return f"| {row} | {ours.cpu / bare.cpu:.1f}x CPU of python |"

    def reading(self, folder: Path, form: str, size: int) -> str:
        """CPU of files to columns against reading and orjson.loads of the same bytes."""
        floor, ours = self.cpu_of("orjson", folder), self.cpu_of("columns", folder)
        return (
            f"| read {form}, traces of {size:,} steps, {_megabytes(folder):,.0f} MB "
            f"| {ours:.2f} s CPU | orjson: {floor:.2f} s CPU | {ours / floor:.2f}x |"
        )

    def ingest(self, folder: Path) -> str:
        """Whole process of a corpus on disk with its graph, against the same floor."""
        floor = self.cpu_of("orjson", folder)
        costs = []
        for _ in range(self.args.runs):
            into = self.work / "corpus"
            shutil.rmtree(into, ignore_errors=True)
            costs.append(
                self.checked(self.ours("ingest", str(folder), "--into", str(into)), self.env)
            )
        ours = median(costs)
        return (
            f"| ingest --into, {_megabytes(folder):,.0f} MB of artifacts | {_show(ours)} "
            f"| orjson: {floor:.2f} s CPU | {ours.cpu / floor:.2f}x |"
        )

    def cpu_of(self, way: str, folder: Path) -> float:
        """Return the median CPU seconds of one way of reading a folder."""
        command = [sys.executable, str(_HERE / "reading.py"), way, str(folder)]
        return statistics.median(
            float(run(command, self.env).output) for _ in range(self.args.runs)
        )

    def query(self, preset: str, steps: int) -> Iterator[str]:
        """Cold and warm queries of one preset, and those of agent-tracegraph."""
        folder = self.corpus("artifact", steps, min(self.args.steps, steps))
        command = self.ours("query", preset, str(folder))
        cold = median([self.cold(command) for _ in range(self.args.runs)])
        warm = self.repeat(command)
        counted = json.loads(run([*command, "--format", "json", "--limit", "0"], self.env).output)
        found = f"{preset}, {steps:,} steps, {counted['match_count']:,} matches"
        theirs = self.peer(preset, folder)
        for name, cost in (("cold", cold), ("warm", warm)):
            if theirs is None:
                yield f"| {name} {found} | {_show(cost)} | | |"
                continue
            peer = f"peer: {_show(theirs)}, {_peer_total(theirs):,} matches"
            ratio = f"{theirs.cpu / cost.cpu:.1f}x less CPU, {theirs.wall / cost.wall:.1f}x faster"
            yield f"| {name} {found} | {_show(cost)} | {peer} | {ratio} |"

    def cold(self, command: list[str]) -> Cost:
        """Run a query with nothing in the cache."""
        shutil.rmtree(self.cache, ignore_errors=True)
        return self.checked(command, self.env)

    def peer(self, preset: str, folder: Path) -> Cost | None:
        """Run the preset in agent-tracegraph, which keeps nothing between runs."""
        if not self.args.peer:
            return None
        command = [self.args.peer, "query", preset, str(folder)]
        return median([self.checked(command, self.bare) for _ in range(self.args.peer_runs)])

    def repeat(self, command: list[str], env: dict[str, str] | None = None) -> Cost:
        """Run a command as often as was asked for and take the median."""
        return median([self.checked(command, env or self.env) for _ in range(self.args.runs)])

    def checked(self, command: list[str], env: dict[str, str]) -> Cost:
        """Run a command that finds something or nothing; anything else ends the benchmark."""
        cost = run(command, env)
        if cost.code not in {0, 1}:
            raise SystemExit(f"exit code {cost.code}: {' '.join(command)}\n{cost.errors}")
        return cost

    def ours(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "tracegraph", *arguments]

    def corpus(self, form: str, steps: int, size: int) -> Path:
        """Return the folder of a corpus with traces of a size, made if it is not there yet."""
        folder = self.work / f"{form}-{steps // size}x{size}-seed{_SEED}"
        if not folder.exists():
            unfinished = folder.with_name(folder.name + ".part")
            shutil.rmtree(unfinished, ignore_errors=True)
            write_corpus(unfinished, steps // size, size, _SEED, form)
            unfinished.rename(folder)
        return folder


def _megabytes(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.iterdir()) / 1e6


def _show(cost: Cost) -> str:
    return f"{cost.cpu:.2f} s CPU, {cost.wall:.2f} s, {cost.rss:.0f} MB"


def _peer_total(cost: Cost) -> int:
    total = _PEER_TOTAL.search(cost.output)
    if total is None:
        raise SystemExit("the peer's output ends in no number of matches")
    return int(total[1])


def _size(text: str) -> int:
    match = re.fullmatch(r"(\d+)([km]?)", text.strip().lower())
    if match is None:
        raise argparse.ArgumentTypeError(f"{text}: expected a size such as 100k or 1M")
    return int(match[1]) * _UNITS.get(match[2], 1)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--sizes", type=lambda t: [_size(s) for s in t.split(",")], default=[100_000]
    )
    parser.add_argument("--steps", type=int, default=100, help="steps of each trace")
    parser.add_argument("--runs", type=int, default=3, help="runs of which the median counts")
    parser.add_argument("--peer", default=os.environ.get("TRACEGRAPH_BENCH_PEER"))
    parser.add_argument("--peer-runs", type=int, default=1)
    parser.add_argument("--work", type=Path, help="where corpora are kept (default: nowhere)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = args.work or Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        for line in Bench(args, work).lines():
            print(line, flush=True)


if __name__ == "__main__":
    main()

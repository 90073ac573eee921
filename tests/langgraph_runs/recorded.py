"""Databases that a pinned langgraph has just written, and how the tests read them."""

import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from environments import python_of
from langgraph_runs.tables import Task, Thread, threads
from shared_data import ROOT
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.reader import read_file
from tracegraph.ingest.source import Source
from tracegraph.model.seal import seal
from tracegraph.model.step import Step
from tracegraph.model.trace import Trace, iterate

HERE = ROOT / "tests" / "langgraph_runs"
VERSIONS = ("0.1.19", "0.2.3", "0.2.20", "0.2.76", "1.2.24")
NAMESPACED = VERSIONS[1:]
COMPLETE = ("0.1.19", "0.2.3", "0.2.76", "1.2.24")
"""The releases that save the writes of every task (0.2.20 drops a super-step's last)."""
MODERN = ("0.2.76", "1.2.24")
"""The releases that record failures and interrupts as writes."""


def read_traces(path: Path, **options: Any) -> list[Trace]:
    """Read a database through the adapter that knows it."""
    source = Source.open(path, path.name)
    return [
        trace
        for draft in read_file(source, ReadOptions(**options))
        for trace in iterate(seal(draft))
    ]


@dataclass(frozen=True)
class Run:
    """One scenario's database, its journal, and the trace that is read from it."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.stem

    @cached_property
    def journal(self) -> dict[str, Any]:
        """What the nodes wrote down themselves while they ran."""
        loaded: dict[str, Any] = json.loads(self.path.with_suffix(".json").read_text())
        return loaded

    @cached_property
    def threads(self) -> dict[str, Thread]:
        return threads(self.path)

    @property
    def thread(self) -> Thread:
        (thread,) = self.threads.values()
        return thread

    @cached_property
    def traces(self) -> dict[str, Trace]:
        return {trace.trace_id: trace for trace in read_traces(self.path)}

    @property
    def trace(self) -> Trace:
        (trace,) = self.traces.values()
        return trace


class Recordings:
    """The databases of all scenarios of a release, written on the first question."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._runs: dict[str, dict[str, Run]] = {}

    def of(self, version: str) -> dict[str, Run]:
        """Return the runs of a release by scenario."""
        if version not in self._runs:
            python = python_of(HERE / "requirements" / f"langgraph-{version}.txt")
            folder = self._folder / version
            command = [str(python), str(HERE / "generate"), str(folder)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            paths = sorted(folder.glob("*.sqlite"))
            self._runs[version] = {path.stem: Run(path) for path in paths}
        return self._runs[version]

    def each(self, version: str) -> Iterator[tuple[Thread, Trace]]:
        """Yield each thread of a release's databases with the trace that is read from it."""
        for run in self.of(version).values():
            for thread_id, thread in run.threads.items():
                yield thread, run.traces[thread_id]


def task_steps(trace: Trace, thread: Thread) -> dict[tuple[str, str], Step]:
    """Return the step of each task by (checkpoint id, task id), where there is one."""
    steps = {step.step_id: step for step in trace.steps}
    found = {}
    for task in thread.tasks:
        for step_id, step in steps.items():
            if step_id == task.task_id or (
                step_id.startswith(task.task_id) and task.checkpoint_id in step_id
            ):
                found[task.checkpoint_id, task.task_id] = step
                break
    return found


def step_of(trace: Trace, thread: Thread, task: Task) -> Step:
    """Return the step of one task."""
    return task_steps(trace, thread)[task.checkpoint_id, task.task_id]


def named(trace: Trace, name: str) -> list[Step]:
    """Return the steps of a name in seq order."""
    return [step for step in trace.steps if step.name == name]


def one(trace: Trace, name: str) -> Step:
    """Return the only step of a name."""
    (step,) = named(trace, name)
    return step


def causes(trace: Trace, step: Step, *origins: str) -> list[tuple[str | None, str]]:
    """Return (name, origin) of a step's causes, sorted."""
    names = {other.step_id: other.name for other in trace.steps}
    return sorted(
        (
            (names[edge.cause], edge.origin)
            for edge in trace.causes
            if edge.effect == step.step_id and (not origins or edge.origin in origins)
        ),
        key=str,
    )


def gaps(trace: Trace) -> dict[str, int]:
    """Return the gaps of a trace by code, without the one that every thread has."""
    found = {gap.code: gap.count for gap in trace.gaps}
    if trace.source == "langgraph":
        assert found.pop("langgraph.last_attempts_only") == 1
    return found


def count(trace: Trace, **fields: Any) -> int:
    """Count the steps with given fields."""
    return sum(
        all(getattr(step, name) == value for name, value in fields.items()) for step in trace.steps
    )


def kinds(trace: Trace) -> Counter[str]:
    """Count the steps by kind."""
    return Counter(step.kind for step in trace.steps)

"""Run a child process and take its measure."""

import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO


@dataclass(frozen=True, slots=True)
class Cost:
    """What a process cost, its children that it waited for included.

    Attributes:
        wall: seconds from start to end.
        cpu: user and system seconds.
        rss: largest resident set, MB.
        output: what it wrote to standard output.
        errors: what it wrote to standard error.
        code: its exit code.
    """

    wall: float
    cpu: float
    rss: float
    output: str
    errors: str
    code: int


def run(command: Sequence[str], env: Mapping[str, str]) -> Cost:
    """Run a command to its end."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        begun = time.perf_counter()
        child = subprocess.Popen(command, stdout=out, stderr=err, env=dict(env))
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - begun
        child.returncode = os.waitstatus_to_exitcode(status)
        output, errors = _text(out), _text(err)
    cpu = usage.ru_utime + usage.ru_stime
    return Cost(wall, cpu, usage.ru_maxrss / 1024, output, errors, child.returncode)


def median(costs: Sequence[Cost]) -> Cost:
    """Return the median of each measure and the largest set; the rest is of the last run."""
    return Cost(
        statistics.median(cost.wall for cost in costs),
        statistics.median(cost.cpu for cost in costs),
        max(cost.rss for cost in costs),
        costs[-1].output,
        costs[-1].errors,
        costs[-1].code,
    )


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")

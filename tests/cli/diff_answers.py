"""Runs on disk to compare, and what ``tracegraph diff`` says of them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from analysis.diff.runs import Made, run
from cli_runner import Invoke
from shared_data import fixture
from tracegraph.export.artifact import write_artifact

V1 = str(fixture("otlp/openinference_regression_v1.json"))
V2 = str(fixture("otlp/openinference_regression_v2.json"))
FATAL = "examples/traces/tool_error_fatal.otlp.json"


def write(name: str, steps: Sequence[Made]) -> str:
    """Write a run as an artifact into the working folder and return its name."""
    Path(name).write_bytes(write_artifact(run(steps)))
    return name


def answer(invoke: Invoke, *arguments: str) -> dict[str, Any]:
    """Return the JSON answer, after a look at the exit code."""
    ran = invoke("diff", *arguments, "--format", "json")
    assert ran.code in {0, 1}, ran.err
    found: dict[str, Any] = json.loads(ran.out)
    assert ran.code == (0 if found["identical"] else 1)
    return found

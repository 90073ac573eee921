"""What commands answer of the inputs with known faults (case_files.py)."""

import json
from pathlib import Path
from typing import Any

from cli_runner import Invoke

FAILURES = ("--rule", "failures-not-increased")


def answer(invoke: Invoke, *arguments: str | Path, code: int = 0) -> dict[str, Any]:
    """Return the JSON answer, after a look at the exit code."""
    ran = invoke(*map(str, arguments), "--format", "json")
    assert ran.code == code, ran.err
    document = json.loads(ran.out)
    assert isinstance(document, dict)
    return document


def matches_of(invoke: Invoke, path: Path, *pattern: str) -> list[tuple[str, list[int]]]:
    """Return certainty and step numbers of each match of a preset, or of a text behind ``-e``."""
    ran = invoke("query", *pattern, str(path), "--format", "json")
    assert ran.code in (0, 1), ran.err
    return [
        (match["certainty"], [int(step["step_id"], 16) for step in match["steps"]])
        for match in json.loads(ran.out)["matches"]
    ]


def reports(invoke: Invoke, path: Path, baseline: str) -> dict[str, str]:
    """Return every report of a run: what may leave the place where it was recorded."""
    commands = {
        "analyze": ("analyze", path),
        "analyze md": ("analyze", path, "--format", "md"),
        "analyze json": ("analyze", path, "--format", "json"),
        "diff": ("diff", path, baseline),
        "diff json": ("diff", path, baseline, "--format", "json"),
        "why": ("why", path),
        "summarize": ("summarize", "error", path, "--format", "json"),
        **{
            f"check {form}": ("check", path, "--baseline", baseline, *FAILURES, "--format", form)
            for form in ("table", "md", "json", "junit", "sarif", "github")
        },
    }
    told = {}
    for name, arguments in commands.items():
        ran = invoke(*map(str, arguments))
        assert ran.code in (0, 1, 3), (name, ran.err)
        told[name] = ran.out + ran.err
    return told

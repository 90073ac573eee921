"""The command that shows more of what an answer told, ready to be copied."""

import shlex
from collections.abc import Iterator

from tracegraph.analysis.analysis import Analysis
from tracegraph.export.text import visible

_STDIN = "-"


def explain_command(path: str, label: str | None, step_id: str) -> str:
    """Return the command that walks the causes of a step back to every root.

    Args:
        path: where the trace was read from.
        label: what the trace is called, None where it is the only one there.
        step_id: the step.
    """
    place = "FILE" if path == _STDIN else path if label is None else f"{path}#{label}"
    options = "-- " if step_id.startswith("-") or place.startswith("-") else ""
    return f"tracegraph explain {options}{shlex.quote(place)} {shlex.quote(step_id)}"


def next_command(path: str, label: str | None, analysis: Analysis) -> str | None:
    """Return the command for the step where the first incident began; None without an incident."""
    if not analysis.incidents:
        return None
    step_id = analysis.columns.step_id[analysis.incidents[0].origin]
    return explain_command(path, label, step_id)


def explain_hint(path: str, label: str | None, analysis: Analysis) -> Iterator[str]:
    """Yield the line that names the next command, if there is one."""
    command = next_command(path, label, analysis)
    if command is not None:
        yield visible(next_line(path, command)) + "\n"


def next_line(path: str, command: str) -> str:
    """Return the line that names the next command, and what a pipe leaves to do before it."""
    saved = " (with what was piped in saved as FILE)" if path == _STDIN else ""
    return f"next{saved}: {command}"

"""A trace as an indented tree: one line a step, whatever its depth and the width of the screen."""

from collections.abc import Iterable, Iterator

from tracegraph.export.text import counted, shortened, visible
from tracegraph.export.traces import ListedTrace
from tracegraph.model.codes import STATUS_CODE
from tracegraph.model.step import Step
from tracegraph.model.trace import Trace

DEEPEST_INDENT = 24
"""Steps below this depth stand at one indent and carry their depth as a number."""
LONGEST_MESSAGE = 200
"""Characters of an error message that are shown; how many more there are is said."""


def tree_lines(listed: ListedTrace, failing_only: bool = False) -> Iterator[tuple[str, bool]]:
    """Yield the lines of the tree, each with whether it shows a failing step.

    ``failing_only`` leaves failing steps and their ancestors, and says how many are left out.

    A line holds the step's kind, name, status, failure, duration, tokens, id, and in brackets how
    the edge to its parent is known; ``1 of 3 causes`` marks a step of which the tree shows one
    cause of several.
    """
    trace = listed.trace
    yield visible(f"{listed.label} ({trace.source}, {trace.status}, {trace.fidelity})"), False
    causes = _cause_counts(trace)
    shown = _failing_paths(trace) if failing_only else list(trace.rows)
    for step, depth, prefix in _walk(trace, shown):
        number = f"[depth {depth}] " if depth > DEEPEST_INDENT else ""
        line = f"{prefix}{number}{_step(step, causes[step.row - trace.rows.start])}"
        yield line, step.status == "error"
    if len(shown) < len(trace):
        yield f"({counted(len(trace) - len(shown), 'step')} outside failing paths left out)", False
    yield _summary(listed, causes), False
    for note in trace.attributes.get("notes", ()):  # where in the source a loss was met
        yield visible(f"note: {note}"), False


def deepest(trace: Trace) -> int:
    """Return the largest number of edges between a root of the tree and a step."""
    return max((depth for _, depth, _ in _walk(trace, trace.rows)), default=0)


def _failing_paths(trace: Trace) -> list[int]:
    """Return the rows of failing steps and of all above them; a parent precedes its children."""
    steps = trace.columns.steps
    shown: set[int] = set()
    for row in reversed(trace.rows):
        if row in shown or steps.status[row] == STATUS_CODE["error"]:
            shown |= {row, int(steps.parent[row])}
    return sorted(shown - {-1})


def _walk(trace: Trace, rows: Iterable[int]) -> Iterator[tuple[Step, int, str]]:
    """Yield each step with its depth below a root and its line's prefix, parents first."""
    children: dict[int, list[int]] = {}
    parents = trace.columns.steps.parent
    for row in rows:
        children.setdefault(int(parents[row]), []).append(row)
    pending = [(row, 0, "") for row in reversed(children.get(-1, []))]
    last = {rows[-1] for rows in children.values()}
    while pending:
        row, depth, indent = pending.pop()
        shown = indent if depth > DEEPEST_INDENT else indent + ("└── " if row in last else "├── ")
        yield Step(trace.columns, row), depth, shown
        below = indent
        if depth < DEEPEST_INDENT:
            below += "    " if row in last else "│   "
        pending += [(child, depth + 1, below) for child in reversed(children.get(row, []))]


def _step(step: Step, causes: int) -> str:
    parts = [step.kind, step.name or "(no name)"]
    if step.status != "ok":
        parts.append(step.status)
    parts += [failure(step)] if step.error_type or step.error_message else []
    if step.duration_ns is not None:
        parts.append(f"{step.duration_ns / 1e6:.1f}ms")
    parts += [_tokens(step)] if _tokens(step) else []
    parts.append(f"@{step.step_id}")
    notes = [note for note in (step.parent_evidence, *step.signals) if note]
    notes += ["orphan"] if step.orphan else []
    notes += [f"1 of {causes} causes"] if step.lossy else []
    parts += [f"[{', '.join(notes)}]"] if notes else []
    return visible(" ".join(parts))


def failure(step: Step) -> str:
    """Return the type and the message of a failure, a long message with how much more there is."""
    message = shortened(step.error_message or "", LONGEST_MESSAGE)
    return f"<{': '.join(part for part in (step.error_type, message) if part)}>"


def _tokens(step: Step) -> str:
    """Return what is recorded of tokens: all of them, else what went in and came out."""
    if step.tokens_total is not None:
        return counted(step.tokens_total, "token")
    known = {"in": step.tokens_prompt, "out": step.tokens_completion}
    parts = [f"{number} {way}" for way, number in known.items() if number is not None]
    return f"{' + '.join(parts)} tokens" if parts else ""


def _cause_counts(trace: Trace) -> list[int]:
    """Return the number of distinct causes of each step of the trace."""
    import numpy as np

    rows, causes = trace.rows, trace.columns.causes
    low, high = np.searchsorted(causes.effect, [rows.start, rows.stop])
    pairs = np.stack([causes.effect[low:high], causes.cause[low:high]])
    effects = np.unique(pairs, axis=1)[0] - rows.start
    return [int(count) for count in np.bincount(effects, minlength=len(rows))]


def _summary(listed: ListedTrace, causes: list[int]) -> str:
    trace = listed.trace
    steps = trace.columns.steps
    kinds = [step.kind for step in trace.steps]
    rows = slice(trace.rows.start, trace.rows.stop)
    parts = [
        counted(len(trace), "step"),
        f"{kinds.count('LLM')} LLM",
        f"{kinds.count('TOOL')} TOOL",
        f"{listed.error_count} failing",
        counted(sum(causes), "cause"),
        f"{int(steps.lossy[rows].sum())} with several causes",
        *(f"{gap.code} {gap.count}" for gap in trace.gaps),
    ]
    return ", ".join(parts)

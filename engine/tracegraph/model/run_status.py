"""The status of a run as a whole (DESIGN section 3, Trace)."""

import numpy as np

from tracegraph.model.codes import ORIGIN_CODE, STATUS_CODE
from tracegraph.model.columns import Array, CauseColumns, Ints, StepColumns

_OK, _ERROR, _UNSET = STATUS_CODE["ok"], STATUS_CODE["error"], STATUS_CODE["unset"]
_MESSAGES = [ORIGIN_CODE[origin] for origin in ("tool_call_id", "protocol")]
NOT_HOLDING = [*_MESSAGES, *(ORIGIN_CODE[origin] for origin in ("span_link", "graph_step"))]
"""Origins that say what came of a step and never that the step contains it."""


def run_status(steps: StepColumns, causes: CauseColumns, offsets: Ints, contained: Array) -> Array:
    """Return the status of each run: of its roots, or of its last step where nothing contains it.

    Of the roots that speak for the run, one error is an error; it is ok only where all are.

    Args:
        steps: in seq order, traces contiguous.
        causes: the edges between them.
        offsets: first row of each trace, and the end.
        contained: which traces have steps that contain the run.
    """
    speaking = speaking_steps(steps, causes)
    failed = _any(speaking & (steps.status == _ERROR), offsets)
    unset = _any(speaking & (steps.status == _UNSET), offsets) | ~_any(speaking, offsets)
    of_roots = np.where(failed, _ERROR, np.where(unset, _UNSET, _OK))
    filled = np.diff(offsets) > 0
    last = np.full(len(filled), _UNSET)
    last[filled] = steps.status[offsets[1:][filled] - 1]
    return np.where(contained, of_roots, last)


def speaking_steps(steps: StepColumns, causes: CauseColumns) -> Array:
    """Tell which steps speak for the run that they belong to, where a step contains it.

    Those are its roots: steps that nothing contains and whose container is not merely missing.
    Model and tool steps that lie side by side without any container are one run: a root whose
    result another root went on with does not speak for it (an error that the model read and
    recovered from).
    """
    count = len(steps.status)
    held, continued = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
    held[causes.effect[~np.isin(causes.origin, NOT_HOLDING)]] = True
    roots = ((steps.parent < 0) | ~held) & ~steps.orphan
    forward = roots[causes.effect] & roots[causes.cause] & (causes.cause < causes.effect)
    continued[causes.cause[forward & np.isin(causes.origin, _MESSAGES)]] = True
    return np.asarray(roots & ~continued)


def _any(mask: Array, offsets: Ints) -> Array:
    total = np.r_[0, np.cumsum(mask)]
    return np.asarray(total[offsets[1:]] > total[offsets[:-1]])

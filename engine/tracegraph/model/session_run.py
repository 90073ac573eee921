"""One run in several traces: the turns of a conversation, attempts, a resume after an interrupt.

Nothing is said of how one trace led to another: there are the causes that were recorded and no
others. So each trace keeps its roots, and the run is in no step (``contained`` is false).
"""

import dataclasses
import json
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tracegraph.model.codes import STATUS_CODE, UNKNOWN
from tracegraph.model.columns import (
    Array,
    CauseColumns,
    Columns,
    Content,
    Ints,
    StepColumns,
    TraceColumns,
    dtype,
    names,
)
from tracegraph.model.order import total_order
from tracegraph.model.trace import Trace
from tracegraph.model.tree import derive_tree

TRACES = "session_traces"
"""The attribute that holds the ids of the traces that a run was made of."""
UNKNOWN_START = "sessions.unknown_start"
"""Traces that are last in their session since nobody knows when they began."""


def is_session_run(trace: Trace) -> bool:
    """Tell whether a trace, or the artifact that it was read from, is one made of several."""
    return TRACES in trace.attributes


class SessionRun(NamedTuple):
    """Several traces as one.

    Attributes:
        columns: the run, as its only trace.
        rows: for each of its steps the row that it has among the traces.
    """

    columns: Columns
    rows: Ints


def session_run(traces: Columns, session_id: str) -> SessionRun:
    """Unite the traces of one session into one trace, which has the session's id.

    Steps are in the order that any trace has (DESIGN section 3): causes first, then by start, those
    without one last, in the order of the traces. An id that several traces use gets ``@`` and the
    id of its trace. The status is that of the last trace, unset where nobody knows which one that
    is; gaps are added up; fidelity is the weakest; fields of a trace, attributes too, stay where
    all that have them agree, but lists of attributes are put together.

    Args:
        traces: at least one, by start, unknown starts last; each id once.
        session_id: the session.
    """
    steps, recorded, count = traces.steps, traces.causes, traces.step_count
    of_one = np.zeros(count, dtype=np.int64)
    order, _ = total_order(of_one, steps.start, recorded.effect, recorded.cause, 1)
    causes = _causes(recorded, np.argsort(order))
    values = {name: getattr(steps, name)[order] for name in names(StepColumns)}
    _renew_bounds(values, traces, order)
    tree = derive_tree(
        np.array([0, count], dtype=np.int64),
        *(causes.effect, causes.cause, causes.origin, causes.evidence),
        *(values["orphan"], values["wrapper"]),
    )
    for field in dataclasses.fields(tree):
        values[field.name] = getattr(tree, field.name)
    header, vocabulary = _header(traces, session_id)
    ids = _step_ids(traces)
    columns = Columns(
        offsets=np.array([0, count], dtype=np.int64),
        trace_id=[session_id],
        step_id=[ids[row] for row in order.tolist()],
        vocabulary=vocabulary,
        traces=header,
        steps=StepColumns(**{n: v.astype(dtype(StepColumns, n)) for n, v in values.items()}),
        causes=causes,
        content=traces.content and _content(traces.content, order.tolist()),
    )
    return SessionRun(columns, order)


def _renew_bounds(values: dict[str, Array], traces: Columns, order: Ints) -> None:
    """Bound the order of steps as in any trace: seq stands for times only where there are none."""
    timed = np.repeat(traces.traces.timed, np.diff(traces.offsets))[order]
    for name in ("o0", "o1"):
        known = np.where(timed, values[name], UNKNOWN)
        values[name] = known if timed.any() else np.arange(len(order))


def _causes(causes: CauseColumns, rank: Ints) -> CauseColumns:
    """Return the edges between rows that are ranked anew."""
    effect, cause = rank[causes.effect], rank[causes.cause]
    order = np.lexsort((causes.evidence, causes.origin, cause, effect))
    columns = (effect, cause, causes.origin, causes.evidence)
    moved = zip(names(CauseColumns), columns, strict=True)
    return CauseColumns(*(v[order].astype(dtype(CauseColumns, name)) for name, v in moved))


def _content(content: Content, order: list[int]) -> Content:
    held = (content.input, content.output, content.attributes)
    return Content(*([texts[row] for row in order] for texts in map(list, held)))


def _step_ids(traces: Columns) -> list[str]:
    """Return the ids of the steps, told apart where several traces use one."""
    ids = list(traces.step_id)
    used = Counter(ids)
    if len(used) == len(ids):
        return ids
    taken = set(used)
    owners = np.repeat(np.arange(traces.trace_count), np.diff(traces.offsets)).tolist()
    for row, (step_id, owner) in enumerate(zip(ids, owners, strict=True)):
        if used[step_id] > 1:
            ids[row] = _free(f"{step_id}@{traces.trace_id[owner]}", taken)
    return ids


def _free(wanted: str, taken: set[str]) -> str:
    """Return an id that no step has, the wanted one if possible, and take it."""
    found, number = wanted, 1
    while found in taken:
        number += 1
        found = f"{wanted}#{number}"
    taken.add(found)
    return found


def _header(traces: Columns, session_id: str) -> tuple[TraceColumns, Sequence[str]]:
    """Return what holds of the run as a whole, and the vocabulary with its texts."""
    t = traces.traces
    known = t.started >= 0
    is_last_known = traces.trace_count == 1 or bool(known[-1])
    values: dict[str, Any] = {
        # The first file of several, as of a trace whose spans lie in several.
        name: getattr(t, name)[0]
        for name in ("file", "file_digest")
    }
    values |= {
        "source": _agreed(t.source),
        "run_id": _agreed(t.run_id),
        "session_id": t.session_id[0],
        "agent": _agreed(t.agent[t.agent >= 0]),
        "status": t.status[-1] if is_last_known else STATUS_CODE["unset"],
        "fidelity": t.fidelity.max(),
        "contained": False,
        "cyclic": t.cyclic.any(),
        "timed": t.timed.any(),
        "started": t.started[known].min(initial=t.started.max()),
        "ended": t.ended.max(),
    }
    vocabulary = list(traces.vocabulary)
    for name, held in (("gaps", _gaps(traces)), ("attributes", _attributes(traces))):
        values[name] = len(vocabulary) if held else UNKNOWN
        vocabulary += [json.dumps(held, sort_keys=True)] if held else []
    if values["session_id"] < 0:
        values["session_id"] = len(vocabulary)
        vocabulary.append(session_id)
    columns = {n: np.array([values[n]], dtype=dtype(TraceColumns, n)) for n in names(TraceColumns)}
    return TraceColumns(**columns), vocabulary


def _agreed(codes: Array) -> int:
    """Return the code that is the only one, else unknown."""
    return int(codes[0]) if len(codes) and (codes == codes[0]).all() else UNKNOWN


def _gaps(traces: Columns) -> dict[str, int]:
    total: Counter[str] = Counter()
    for held in _objects(traces, traces.traces.gaps):
        total.update(held)
    if traces.trace_count > 1:
        total[UNKNOWN_START] += int(np.count_nonzero(traces.traces.started < 0))
    return dict(+total)


def _attributes(traces: Columns) -> dict[str, Any]:
    """Return lists put together, what else all traces that have it agree on, and the traces."""
    found: dict[str, Any] = {}
    differing = set()
    for held in _objects(traces, traces.traces.attributes):
        for name, value in held.items():
            if isinstance(value, list) and isinstance(found.get(name, []), list):
                found[name] = [*found.get(name, []), *value]
            elif found.setdefault(name, value) != value:
                differing.add(name)
    agreed = {name: value for name, value in found.items() if name not in differing}
    return {**agreed, TRACES: list(traces.trace_id)}


def _objects(traces: Columns, codes: Array) -> list[dict[str, Any]]:
    """Return the JSON objects that a text column of traces holds, in the order of the traces."""
    texts = (traces.text(code) for code in codes.tolist())
    return [json.loads(text) for text in texts if text]

"""What is wrong with a trace artifact: its form, then what it says against what follows from it.

Ours is held against its published contract; then it is read, and every derived field that it holds
(order, parent, lossy marks, times and status of the run) against what its steps and causes make of
it. Of agent-tracegraph's artifacts what is read here is checked: form, ids, edges.
"""

import json
import re
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, NoReturn, TypeVar

import msgspec
import numpy as np

from tracegraph.analysis.contract import Problem, member, shown, violations
from tracegraph.ingest.artifact.draft import add_trace
from tracegraph.ingest.artifact.records import ArtifactRecord, CauseRecord
from tracegraph.ingest.artifact.records import decode as decode_ours
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.nesting import deep_nesting
from tracegraph.ingest.peer_artifact.records import decode as decode_peer
from tracegraph.ingest.source import Source
from tracegraph.ingest.times import parse_times
from tracegraph.model.codes import EVIDENCE_CODE, STATUS_CODE, evidence_of
from tracegraph.model.columns import Columns
from tracegraph.model.draft import Draft
from tracegraph.model.run_status import run_status
from tracegraph.model.seal import SEALED_GAPS, seal
from tracegraph.model.session_run import TRACES

CONTRACT = "trace-artifact.v1"
_Record = TypeVar("_Record")
_AT = re.compile(r" - at `\$?\.?(.*)`$")


def check(data: bytes, source: Source, *, is_peer: bool) -> Iterator[Problem]:
    """Yield what is wrong with one artifact; nothing if it is valid.

    Args:
        data: the document.
        source: the file that it stands in.
        is_peer: it is one of agent-tracegraph's.
    """
    document = yield from _document(data)
    if document is None:
        return
    if is_peer:
        yield from _peer(data)
        return
    found = False
    for problem in violations(CONTRACT, document):
        found = True
        yield problem
    if not found:
        yield from _ours(data, source)


def _document(data: bytes) -> Generator[Problem, None, Any]:
    """Yield why a document is no JSON that all readers read alike; return it if it is."""
    repeated: dict[int, str] = {}

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(items)
        if len(value) < len(items):
            keys = [key for key, _ in items]
            repeated[id(value)] = next(key for key in keys if keys.count(key) > 1)
        return value

    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is no JSON number")

    try:
        with deep_nesting():
            document = json.loads(data.decode(), object_pairs_hook=pairs, parse_constant=refuse)
    except UnicodeDecodeError as error:
        yield Problem("", f"byte {error.start} is no UTF-8")
        return None
    except json.JSONDecodeError as error:
        yield Problem("", f"line {error.lineno}, column {error.colno}: not JSON: {error.msg}")
        return None
    except (ValueError, RecursionError) as error:
        deep = "nested too deeply to be read"
        yield Problem("", deep if isinstance(error, RecursionError) else str(error))
        return None
    for path, key in _repeats(document, repeated) if repeated else ():
        yield Problem(member(path, key), "is there twice")
    return None if repeated else document


def _repeats(document: Any, repeated: dict[int, str]) -> Iterator[tuple[str, str]]:
    """Yield path and key of what an object holds twice."""
    pending: list[tuple[str, Any]] = [("", document)]
    while pending:
        path, value = pending.pop()
        if isinstance(value, dict):
            if id(value) in repeated:
                yield path, repeated[id(value)]
            inner = [(member(path, key), item) for key, item in value.items()]
        else:
            inner = [(f"{path}[{index}]", item) for index, item in enumerate(value)]
        pending += [(at, item) for at, item in reversed(inner) if isinstance(item, dict | list)]


def _decoded(
    decode: Callable[[bytes], _Record], data: bytes
) -> Generator[Problem, None, _Record | None]:
    """Yield why the reader of artifacts refuses one; return the record if it does not."""
    try:
        return decode(data)
    except msgspec.MsgspecError as error:
        text = str(error)
        at = _AT.search(text)
        yield Problem(at[1] if at else "", text[: at.start()] if at else text)
    except RecursionError:
        yield Problem("", "nested too deeply to be read")
    return None


def _peer(data: bytes) -> Iterator[Problem]:
    record = yield from _decoded(decode_peer, data)
    if record is None:
        return
    body = record.trace
    yield from _repeated([step.step_id for step in body.steps], "trace.steps")
    known = {step.step_id for step in body.steps}
    seen: dict[tuple[str, str], int] = {}
    for index, edge in enumerate(body.edges):
        path = f"trace.edges[{index}]"
        if edge.type != "CAUSED_BY":
            continue
        yield from _ends(((f"{path}.src", edge.src), (f"{path}.dst", edge.dst)), known)
        first = seen.setdefault((edge.src, edge.dst), index)
        if first != index:
            yield Problem(path, f"repeats trace.edges[{first}]")


def _ours(data: bytes, source: Source) -> Iterator[Problem]:
    record = yield from _decoded(decode_ours, data)
    if record is None:
        return
    known = {step.step_id for step in record.steps}
    found = list(_repeated([step.step_id for step in record.steps], "steps"))
    for index, cause in enumerate(record.causes):
        found += _cause(cause, f"causes[{index}]", known)
    losses = _Said(source.name)
    draft = Draft()
    add_trace(draft, record, source, losses)
    if not found:
        found += [Problem("", text) for text in losses.texts]
    yield from found
    if not found:
        yield from _derived(record, seal(draft))


class _Said(Losses):
    """Losses in words: what the reader would disclose is what is wrong here."""

    def __init__(self, file: str) -> None:
        super().__init__(file, strict=False)
        self.texts: list[str] = []

    def add(self, code: str, what: str, count: int = 1) -> None:
        super().add(code, what, count)
        self.texts.append(what)


def _repeated(ids: Sequence[str], path: str) -> Iterator[Problem]:
    first: dict[str, int] = {}
    for index, step_id in enumerate(ids):
        at = first.setdefault(step_id, index)
        if at != index:
            yield Problem(f"{path}[{index}].step_id", f"{shown(step_id)} is that of {path}[{at}]")


def _ends(ends: Sequence[tuple[str, str]], known: set[str]) -> Iterator[Problem]:
    for path, step_id in ends:
        if step_id not in known:
            yield Problem(path, f"{shown(step_id)} is no step of the trace")
    if ends[0][1] == ends[1][1]:
        yield Problem(ends[1][0], f"{shown(ends[0][1])} is its own cause")


def _cause(cause: CauseRecord, path: str, known: set[str]) -> Iterator[Problem]:
    yield from _ends(((f"{path}.effect", cause.effect), (f"{path}.cause", cause.cause)), known)
    claimed = EVIDENCE_CODE[cause.evidence] if cause.evidence else None
    if claimed is not None and claimed < evidence_of(cause.origin or "edge"):
        yield Problem(
            f"{path}.evidence", f"{cause.evidence} is more than {cause.origin or 'edge'} can prove"
        )


def _derived(record: ArtifactRecord, columns: Columns) -> Iterator[Problem]:
    """Yield the derived fields that contradict the steps and causes."""
    place = {step_id: row for row, step_id in enumerate(columns.step_id)}
    parent, lossy = columns.steps.parent.tolist(), columns.steps.lossy.tolist()
    is_ordered = bool(record.steps) and all(step.seq is not None for step in record.steps)
    for index, step in enumerate(record.steps):
        path, row = f"steps[{index}]", place[step.step_id]
        if step.seq is not None and step.seq != row:
            yield _other(f"{path}.seq", step.seq, row)
        above = columns.step_id[parent[row]] if parent[row] >= 0 else None
        # Who wrote seq wrote all that is derived: then what is left out says that there is none.
        if (is_ordered or step.parent is not None) and step.parent != above:
            yield _other(f"{path}.parent", step.parent, above)
        if (is_ordered or step.lossy is not None) and bool(step.lossy) != lossy[row]:
            yield _other(f"{path}.lossy", bool(step.lossy), lossy[row])
    yield from _derived_header(record, columns)
    if is_ordered and record.trace.status == "ok":
        yield from _status(record, columns)


def _derived_header(record: ArtifactRecord, columns: Columns) -> Iterator[Problem]:
    header, traces = record.trace, columns.traces
    for field, column in (("started_at", traces.started), ("ended_at", traces.ended)):
        text = getattr(header, field)
        ns = int(column[0])
        if text is not None and parse_times([text])[0] != ns:
            derived = None if ns < 0 else f"{np.datetime64(ns, 'ns')}Z"
            yield _other(f"trace.{field}", text, derived)
    if header.cyclic is not None and header.cyclic != bool(traces.cyclic[0]):
        yield _other("trace.cyclic", header.cyclic, bool(traces.cyclic[0]))
    yield from _gaps(record, columns)


def _status(record: ArtifactRecord, columns: Columns) -> Iterator[Problem]:
    """Yield that a run is called ok against its own steps.

    A source may record that a run failed of which no step did, so that is no contradiction. Of a
    session its last trace speaks, and which steps were that one's is not told.
    """
    if TRACES in (record.trace.attributes or {}):
        return
    contained = np.array([record.trace.contained is not False])
    status = run_status(columns.steps, columns.causes, columns.offsets, contained)
    if status[0] == STATUS_CODE["error"]:
        yield _other("trace.status", "ok", "error")


def _gaps(record: ArtifactRecord, columns: Columns) -> Iterator[Problem]:
    """Yield the counts of gaps that the steps and causes show to be others."""
    text = columns.text(columns.traces.gaps[0])
    derived: dict[str, int] = json.loads(text) if text else {}
    for index, gap in enumerate(record.trace.gaps):
        if gap.code in SEALED_GAPS and gap.count != derived.get(gap.code, 0):
            yield _other(f"trace.gaps[{index}].count", gap.count, derived.get(gap.code, 0))


def _other(path: str, said: Any, derived: Any) -> Problem:
    if said is None:
        return Problem(path, f"is missing; the steps and causes make it {shown(derived)}")
    made = "none" if derived is None else shown(derived)
    return Problem(path, f"{shown(said)}, but the steps and causes make it {made}")

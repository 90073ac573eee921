"""The Parquet record of a segment: what other programs read.

``traces``, ``steps`` and ``causes`` carry words, text and times under the names of DESIGN
section 3. ``trace`` is the place of a trace in its segment, from 0, and joins the three; ids alone
do not, since two sources may use the same ones. Times are UTC.
"""

from pathlib import Path
from typing import Any

import numpy as np

from tracegraph.corpus.durable import sync
from tracegraph.corpus.segment import arrow_texts
from tracegraph.corpus.texts import Texts
from tracegraph.model.codes import EVIDENCE, FIDELITIES, KINDS, ORIGINS, SIGNALS, STATUSES
from tracegraph.model.columns import Array, Columns

_ROWS = 128 * 1024
_TRACE_TEXTS = {
    name: name for name in "source file file_digest run_id session_id agent gaps attributes".split()
}
_STEP_TEXTS = {
    "name": "name",
    "status_source": "status_source",
    "agent": "agent",
    "model": "model",
    "error_type": "error_type",
    "error_message": "error_message",
    "cost_text": "cost",
    "tool_call_id": "tool_call_id",
    "args": "args_digest",
    "result": "result_digest",
    "unknown_fields": "unknown_fields",
}


def write_record(folder: Path, columns: Columns) -> None:
    """Write the three Parquet files of a segment into its folder. Same columns, same bytes."""
    import pyarrow.parquet as pq

    for name, table in (
        ("traces", traces_table(columns)),
        ("steps", steps_table(columns)),
        ("causes", causes_table(columns)),
    ):
        path = folder / f"{name}.parquet"
        pq.write_table(table, path, compression="zstd", row_group_size=_ROWS)
        sync(path)
    sync(folder)


def traces_table(columns: Columns) -> Any:
    """Return one row per trace as an Arrow table."""
    import pyarrow as pa

    t = columns.traces
    texts = {shown: _text(columns, getattr(t, name)) for name, shown in _TRACE_TEXTS.items()}
    return pa.table(
        {
            "trace": pa.array(np.arange(columns.trace_count, dtype=np.int32)),
            "trace_id": arrow_texts(columns.trace_id),
            "source": texts.pop("source"),
            "file": texts.pop("file"),
            "status": _word(t.status, STATUSES),
            "fidelity": _word(t.fidelity, FIDELITIES),
            "cyclic": pa.array(t.cyclic),
            "started_at": _time(t.started),
            "ended_at": _time(t.ended),
            "step_count": pa.array(np.diff(columns.offsets)),
            **texts,
        }
    )


def steps_table(columns: Columns) -> Any:
    """Return one row per step as an Arrow table."""
    import pyarrow as pa

    s = columns.steps
    texts = {shown: _text(columns, getattr(s, name)) for name, shown in _STEP_TEXTS.items()}
    sizes = np.diff(columns.offsets)
    trace = np.repeat(np.arange(columns.trace_count, dtype=np.int32), sizes)
    ids = arrow_texts(columns.step_id)
    return pa.table(
        {
            "trace": pa.array(trace),
            "trace_id": _codes(trace, Texts.of(columns.trace_id)),
            "step_id": ids,
            "seq": pa.array(np.arange(columns.step_count) - columns.offsets[:-1][trace]),
            "kind": _word(s.kind, KINDS),
            "name": texts.pop("name"),
            "status": _word(s.status, STATUSES),
            "status_source": texts.pop("status_source"),
            "agent": texts.pop("agent"),
            "model": texts.pop("model"),
            "started_at": _time(s.start),
            "ended_at": _time(s.end),
            "duration_ms": pa.array(s.duration / 1e6, mask=s.duration < 0),
            "tokens_prompt": _known(s.tokens_prompt),
            "tokens_completion": _known(s.tokens_completion),
            "tokens_total": _known(s.tokens_total),
            "args_size": _known(s.args_size),
            "result_size": _known(s.result_size),
            "docs": _known(s.docs),
            "signals": _signals(s.signals),
            "wrapper": pa.array(s.wrapper),
            "orphan": pa.array(s.orphan),
            "lossy": pa.array(s.lossy),
            "depth": _known(s.depth),
            "children": pa.array(s.children),
            "parent": ids.take(_known(s.parent)),
            "parent_evidence": _word(s.parent_evidence, EVIDENCE),
            **texts,
        }
    )


def causes_table(columns: Columns) -> Any:
    """Return one row per CAUSED_BY edge as an Arrow table."""
    import pyarrow as pa

    c = columns.causes
    ids = arrow_texts(columns.step_id)
    return pa.table(
        {
            "trace": pa.array(columns.trace_of(c.effect).astype(np.int32)),
            "effect": ids.take(pa.array(c.effect)),
            "cause": ids.take(pa.array(c.cause)),
            "origin": _word(c.origin, ORIGINS),
            "evidence": _word(c.evidence, EVIDENCE),
        }
    )


def _text(columns: Columns, codes: Array) -> Any:
    return _codes(codes, Texts.of(columns.vocabulary))


def _codes(codes: Array, vocabulary: Texts) -> Any:
    """Return codes as a dictionary array over the texts that they use."""
    import pyarrow as pa

    used = np.zeros(len(vocabulary) + 1, dtype=np.bool_)  # the last one stands for unknown
    used[codes] = True
    kept = np.flatnonzero(used[:-1])
    place = np.zeros(len(used), dtype=np.int32)
    place[kept] = np.arange(len(kept), dtype=np.int32)
    indices = pa.array(place[codes], mask=codes < 0)
    return pa.DictionaryArray.from_arrays(indices, arrow_texts(vocabulary.take(kept)))


def _word(codes: Array, words: tuple[str, ...]) -> Any:
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(words))


def _time(values: Array) -> Any:
    import pyarrow as pa

    return pa.array(values, pa.timestamp("ns"), mask=values < 0)


def _known(values: Array) -> Any:
    import pyarrow as pa

    return pa.array(values, mask=values < 0)


def _signals(masks: Array) -> Any:
    import pyarrow as pa

    bits = (masks[:, None] >> np.arange(len(SIGNALS))) & 1
    offsets = np.r_[0, np.cumsum(bits.sum(axis=1))].astype(np.int32)
    _, which = np.nonzero(bits)
    words = pa.DictionaryArray.from_arrays(pa.array(which.astype(np.int8)), pa.array(SIGNALS))
    return pa.ListArray.from_arrays(pa.array(offsets), words)

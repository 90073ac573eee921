"""A segment as Arrow tables, one per graph table, columns in the order of the DDL.

Text reaches the database as Arrow dictionaries over the segment's vocabulary: no string is copied
per step.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tracegraph.graph.texts import globalise
from tracegraph.model.codes import (
    EVIDENCE,
    FIDELITIES,
    KINDS,
    ORIGINS,
    STATUS_CODE,
    STATUSES,
    UNKNOWN,
    signal_words,
)
from tracegraph.model.columns import Array, Columns, Ints, Mask

KEY_BITS = 32
"""A key is ``segment << KEY_BITS | row``."""

_NS_PER_MS = 1e6


@dataclass(frozen=True)
class SegmentTables:
    """The graph's rows of one segment.

    Attributes:
        number: the segment's number, the high half of its keys.
        columns: its traces.
        global_codes: global text code of each code of its vocabulary.
    """

    number: int
    columns: Columns
    global_codes: Ints

    def traces(self) -> Any:
        """Return the rows of ``Trace``."""
        import pyarrow as pa

        c, t = self.columns, self.columns.traces
        failed = np.r_[0, np.cumsum(c.steps.status == STATUS_CODE["error"])]
        return pa.table(
            {
                "_key": self._keys(np.arange(c.trace_count)),
                "trace_id": _strings(c.trace_id),
                "source": self._text(t.source),
                "file": self._text(t.file),
                "run_id": self._text(t.run_id),
                "session_id": self._text(t.session_id),
                "agent": self._text(t.agent),
                "status": _word(t.status, STATUSES),
                "fidelity": _word(t.fidelity, FIDELITIES),
                "started_at": _time(t.started),
                "ended_at": _time(t.ended),
                "cyclic": pa.array(t.cyclic),
                "step_count": pa.array(np.diff(c.offsets)),
                "error_count": pa.array(failed[c.offsets[1:]] - failed[c.offsets[:-1]]),
                "gaps": self._text(t.gaps),
                "attributes": self._text(t.attributes),
                "_source": self._code(t.source),
                "_run_id": self._code(t.run_id),
                "_session_id": self._code(t.session_id),
                "_agent": self._code(t.agent),
                "_status": _integer(t.status),
                "_fidelity": _integer(t.fidelity),
            }
        )

    def steps(self) -> Any:
        """Return the rows of ``Step``."""
        import pyarrow as pa

        return pa.table({**self._readable_steps(), **self._engine_steps()})

    def causes(self) -> Any:
        """Return the edges of ``CAUSED_BY``: effect, cause, then the properties."""
        import pyarrow as pa

        e = self.columns.causes
        return pa.table(
            {
                "from": self._keys(e.effect),
                "to": self._keys(e.cause),
                "origin": _word(e.origin, ORIGINS),
                "evidence": _word(e.evidence, EVIDENCE),
                "_evidence": _integer(e.evidence),
            }
        )

    def tree(self) -> Any:
        """Return the edges of ``TREE_PARENT``: child, parent, then the properties."""
        import pyarrow as pa

        s = self.columns.steps
        children = np.flatnonzero(s.parent >= 0)
        return pa.table(
            {
                "from": self._keys(children),
                "to": self._keys(s.parent[children]),
                "evidence": _word(s.parent_evidence[children], EVIDENCE),
            }
        )

    def membership(self) -> Any:
        """Return the edges of ``IN_TRACE``: step, trace."""
        import pyarrow as pa

        rows = np.arange(self.columns.step_count)
        return pa.table({"from": self._keys(rows), "to": self._keys(self._trace)})

    @cached_property
    def _trace(self) -> Ints:
        """The trace index of each step."""
        c = self.columns
        return np.repeat(np.arange(c.trace_count), np.diff(c.offsets))

    @property
    def _seq(self) -> Ints:
        return np.arange(self.columns.step_count) - self.columns.offsets[self._trace]

    def _readable_steps(self) -> dict[str, Any]:
        import pyarrow as pa

        c, s = self.columns, self.columns.steps
        return {
            "_key": self._keys(np.arange(c.step_count)),
            "step_id": _strings(c.step_id),
            "trace_id": pa.DictionaryArray.from_arrays(
                pa.array(self._trace.astype(np.int32)), _strings(c.trace_id)
            ),
            "seq": pa.array(self._seq),
            "kind": _word(s.kind, KINDS),
            "name": self._text(s.name),
            "status": _word(s.status, STATUSES),
            "status_source": self._text(s.status_source),
            "agent": self._text(s.agent),
            "model": self._text(s.model),
            "started_at": _time(s.start),
            "ended_at": _time(s.end),
            "duration_ms": pa.array(s.duration / _NS_PER_MS, mask=s.duration < 0),
            "error_type": self._text(s.error_type),
            "error_message": self._text(s.error_message),
            "tokens_prompt": _count(s.tokens_prompt),
            "tokens_completion": _count(s.tokens_completion),
            "tokens_total": _count(s.tokens_total),
            "cost": pa.array(s.cost, mask=s.cost < 0),
            "tool_call_id": self._text(s.tool_call_id),
            "args_digest": self._text(s.args),
            "result_digest": self._text(s.result),
            "args_size": _count(s.args_size),
            "result_size": _count(s.result_size),
            "docs": _count(s.docs),
            "signals": _signals(s.signals),
            "wrapper": pa.array(s.wrapper),
            "orphan": pa.array(s.orphan),
            "lossy": pa.array(s.lossy),
            "depth": _count(s.depth),
            "children": _integer(s.children),
            "unknown_fields": self._text(s.unknown_fields),
            "input": self._body("input"),
            "output": self._body("output"),
            "attributes": self._body("attributes"),
        }

    def _engine_steps(self) -> dict[str, Any]:
        import pyarrow as pa

        c, s = self.columns, self.columns.steps
        # o1 is the possible end wherever the trace has any time; elsewhere no end is known.
        possible_end = np.where(c.traces.timed[self._trace], s.o1, UNKNOWN)
        return {
            "_trace": self._keys(self._trace),
            "_seq": pa.array(self._seq),
            "_kind": _integer(s.kind),
            "_status": _integer(s.status),
            "_status_source": self._code(s.status_source),
            "_name": self._code(s.name),
            "_agent": self._code(s.agent),
            "_model": self._code(s.model),
            "_error_type": self._code(s.error_type),
            "_error_message": self._code(s.error_message),
            "_tool_call_id": self._code(s.tool_call_id),
            "_args": self._code(s.args),
            "_result": self._code(s.result),
            "_start": _integer(s.start),
            "_end": _integer(possible_end),
            "_duration": _integer(s.duration),
            "_tokens_prompt": _integer(s.tokens_prompt),
            "_tokens_completion": _integer(s.tokens_completion),
            "_tokens_total": _integer(s.tokens_total),
            "_docs": _integer(s.docs),
            "_cost": pa.array(s.cost),
            "_signals": _integer(s.signals),
            "_depth": _integer(s.depth),
            "_children": _integer(s.children),
            "_lossy": pa.array(s.lossy),
            "_o0": _integer(s.o0),
            "_o1": _integer(s.o1),
            "_pre": self._keys(s.pre),
            "_last": self._keys(s.last),
            "_scope": self._keys(s.scope, s.scope < 0),
            "_parent": self._keys(s.parent, s.parent < 0),
        }

    def _keys(self, rows: Array, none: Mask | None = None) -> Any:
        """Return the keys of rows, -1 for those that ``none`` marks."""
        import pyarrow as pa

        keys = rows.astype(np.int64) + (self.number << KEY_BITS)
        return pa.array(keys if none is None else np.where(none, UNKNOWN, keys))

    def _code(self, codes: Array) -> Any:
        import pyarrow as pa

        return pa.array(globalise(codes, self.global_codes))

    def _text(self, codes: Array) -> Any:
        import pyarrow as pa

        return pa.DictionaryArray.from_arrays(
            pa.array(codes, pa.int32(), mask=codes < 0), self._vocabulary
        )

    @cached_property
    def _vocabulary(self) -> Any:
        return _strings(self.columns.vocabulary)

    def _body(self, field: str) -> Any:
        import pyarrow as pa

        content = self.columns.content
        if content is None:
            return pa.nulls(self.columns.step_count, pa.string())
        return _strings(getattr(content, field))


def _strings(texts: Sequence[str | None]) -> Any:
    import pyarrow as pa

    return pa.array(list(texts), pa.string())


def _integer(values: Array) -> Any:
    import pyarrow as pa

    return pa.array(values.astype(np.int64, copy=False))


def _count(values: Array) -> Any:
    """Integers of which the negative ones are unknown."""
    import pyarrow as pa

    return pa.array(values.astype(np.int64, copy=False), mask=values < 0)


def _time(nanoseconds: Array) -> Any:
    import pyarrow as pa

    return pa.array(nanoseconds // 1000, mask=nanoseconds < 0).cast(pa.timestamp("us"))


def _word(codes: Array, words: Sequence[str]) -> Any:
    """Codes of a closed vocabulary as text."""
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(pa.array(codes), _strings(words))


def _signals(masks: Array) -> Any:
    import pyarrow as pa

    distinct, index = np.unique(masks, return_inverse=True)
    lists = [signal_words(mask) for mask in distinct.tolist()]
    return pa.array(lists, pa.list_(pa.string())).take(pa.array(index.reshape(-1)))

"""Home-made logs as tests make them, and what reading them by a mapping gives."""

import json
from typing import Any

from shared_data import fixture
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.mapped.adapter import MappedAdapter
from tracegraph.ingest.mapped.load import load_map, parse_map
from tracegraph.ingest.source import Source
from tracegraph.model.draft import Draft
from tracegraph.model.seal import seal
from tracegraph.model.step import Step
from tracegraph.model.trace import Trace, iterate
from tracegraph.model.unmapped import Unmapped

Row = dict[str, Any]
SIMPLE = """
version = 1
[fields]
step_id = "id"
parent = "parent"
name = "name"
status = "ok"
duration = "ms"
[parent]
is = "container"
[units]
duration = "ms"
[status]
ok = [true]
error = [false]
"""
MADE = load_map(fixture("mapped/made.map.toml"))


def fields(**assigned: str) -> str:
    """A mapping that assigns columns to fields; a parent contains."""
    lines = [f"{name} = {json.dumps(path, ensure_ascii=False)}" for name, path in assigned.items()]
    return "\n".join(["version = 1", "[fields]", *lines, '[parent]\nis = "container"', ""])


def lines(*rows: Any) -> bytes:
    """A log of records in JSON Lines."""
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def drafts(data: bytes, mapping: str, *, strict: bool = False, keep: bool = False) -> list[Draft]:
    """What reading a log gives."""
    options = ReadOptions(keep, strict, mapping=parse_map(mapping, "a.map.toml"))
    return list(MappedAdapter().read([Source("log.x", data)], options))


def read_all(data: bytes, mapping: str = SIMPLE, **options: bool) -> list[Trace]:
    """The traces of a log of which nothing outside of them was lost."""
    found = drafts(data, mapping, **options)
    assert not found[-1].file_gaps
    return [trace for draft in found for trace in iterate(seal(draft))]


def read(data: bytes, mapping: str = SIMPLE, **options: bool) -> Trace:
    """The only trace of a log."""
    (trace,) = read_all(data, mapping, **options)
    return trace


def first(data: bytes, mapping: str) -> Step:
    """The first step of a log of one trace."""
    return next(read(data, mapping).steps)


def step(row: Row, mapping: str) -> Step:
    """The only step of a record; every column of the mapping has to be in it."""
    return first(lines(row), mapping)


def left(data: bytes, mapping: str = SIMPLE) -> Unmapped:
    """What the mapping left of a log."""
    found = drafts(data, mapping)[-1].unmapped
    assert found is not None
    return found


def edges(trace: Trace, origin: str) -> set[tuple[str, str]]:
    """(cause, effect) of the edges of an origin."""
    return {(c.cause, c.effect) for c in trace.causes if c.origin == origin}

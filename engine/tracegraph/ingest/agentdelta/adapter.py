"""agentdelta's JSON Lines: runs of numbered nodes (start, llm, tool_call, tool_return, end), edges.

Each ``trace_meta`` after the first starts a new run: concatenated files are several runs whose step
numbers collide. What the edges of a run are worth is judged in
:mod:`tracegraph.ingest.agentdelta.causes`.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

import msgspec

from tracegraph.errors import InputError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.agentdelta.draft import add_run
from tracegraph.ingest.agentdelta.records import Edge, Node, Row, Run, decode
from tracegraph.ingest.free_ids import FreeIds
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.salvage import salvage
from tracegraph.ingest.source import Source
from tracegraph.ingest.tolerant_json import decode_tolerant
from tracegraph.model.draft import Draft

_AREA = "agentdelta"
_MARK = re.compile(
    rb'^\s*\{(?=[^\n]*"type"\s*:\s*"(?:trace_meta|node|edge)")'
    rb'(?=[^\n]*"(?:trace_meta|node_type|source_step)")',
    re.MULTILINE,
)


class AgentdeltaAdapter:
    """Reads agentdelta traces."""

    name = _AREA
    version = 1
    unites = False

    def sniff(self, source: Source) -> bool:
        """Tell by a line that is one of its records."""
        return bool(_MARK.match(source.head) or _MARK.search(source.head, 0, 4096))

    def read(self, sources: Sequence[Source], options: ReadOptions) -> Iterator[Draft]:
        """Yield one draft a file.

        Gap codes, all of a trace: ``agentdelta.torn_line`` (the last line was cut off),
        ``agentdelta.unreadable_line``, ``agentdelta.unreadable_record``,
        ``agentdelta.unreadable_field``, ``agentdelta.unknown_record``,
        ``agentdelta.unknown_node_type``, ``agentdelta.repeated_step`` (two nodes with one number),
        ``agentdelta.dangling_edge``, ``agentdelta.ambiguous_edge`` (one end is a repeated number),
        ``agentdelta.open_pairing`` (a tool return that more than one open call could have),
        ``agentdelta.return_without_call``.
        """
        for source in sources:
            yield _read_file(source, options)


def _read_file(source: Source, options: ReadOptions) -> Draft:
    draft = Draft(keep_content=options.keep_content)
    ids = FreeIds()
    runs = _runs(source, options)
    if not any(run.readable for run in runs):
        raise InputError(f"{source.name}: no line holds a readable agentdelta record")
    for run in runs:
        trace_id = ids.take(run.run_id or PurePosixPath(source.name).stem)
        if options.only is None or trace_id in options.only:
            add_run(draft, run, trace_id, source)
    return draft


def _runs(source: Source, options: ReadOptions) -> list[Run]:
    run = Run(Losses(source.name, options.strict))
    runs = [run]
    for number, offset, line in source.lines():
        place = f"line {number}"
        try:
            row = _row(line, f"{source.name}: {place}", run.losses)
        except InputError as error:
            is_torn = offset + len(line) == len(source)
            run.losses.add(f"{_AREA}.{'torn_line' if is_torn else 'unreadable_line'}", str(error))
            continue
        if row is not None and row.type == "trace_meta" and run.has_meta:
            run = Run(Losses(source.name, options.strict))
            runs.append(run)
        if row is not None:
            run.readable = True
        _add(run, row, place)
    return runs


def _row(line: bytes, place: str, losses: Losses) -> Row | None:
    try:
        return decode(line)
    except (msgspec.MsgspecError, RecursionError):
        return salvage(Row, decode_tolerant(line, place, losses), place, _AREA, losses)


def _add(run: Run, row: Row | None, place: str) -> None:
    """File a record under its run; what cannot be used is disclosed."""
    if row is None:
        run.losses.add("agentdelta.unreadable_record", f"{place} is no record")
    elif row.type == "trace_meta":
        run.has_meta = True
        run.run_id = row.run_id
    elif row.type == "node":
        if row.step is None:
            run.losses.add("agentdelta.unreadable_record", f"{place}: a node without a step number")
        else:
            run.nodes.append(Node(row.step, row.node_type or "", row.content, row.metadata, row.id))
    elif row.type == "edge":
        if row.source_step is None or row.target_step is None:
            run.losses.add("agentdelta.unreadable_record", f"{place}: an edge without its steps")
        else:
            run.edges.append(Edge(row.source_step, row.target_step))
    else:
        run.losses.add("agentdelta.unknown_record", f"{place}: a record of type {row.type!r}")

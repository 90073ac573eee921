"""Session logs of Claude Code: one JSON object a line, or a document with ``loglines``.

One trace a session and file. Sub-agents write into the file of their session or into one of their
own (``agent-*.jsonl``), which is a trace of the same session.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any

from tracegraph.errors import InputError, StrictError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.attributes import dump
from tracegraph.ingest.claude_code.entries import AREA, Entry, read_entry, session_of
from tracegraph.ingest.claude_code.session import Session
from tracegraph.ingest.documents import documents
from tracegraph.ingest.free_ids import FreeIds
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.opening import opening_keys
from tracegraph.ingest.source import Source
from tracegraph.ingest.tolerant_json import decode_json
from tracegraph.model.codes import FIDELITY_CODE
from tracegraph.model.draft import Draft

_OPENING = frozenset({"sessionId", "leafUuid", "isSnapshotUpdate", "loglines"})
_TITLE = frozenset({"type", "summary", "leafUuid"})
"""The members of a line that names a session; many may stand before the first of its own."""
_MESSAGE = re.compile(rb'"type"\s*:\s*"(?:user|assistant)"')
_LINKED = re.compile(rb'"isSidechain"\s*:|"loglines"\s*:\s*\[')
_CONTEXT = re.compile(rb'"type"\s*:\s*"(?:attachment|system|progress)"')
"""What the client notes before the first message, which may fill the head."""
_VERSION = re.compile(r"[\w.+-]{1,40}", re.ASCII)


class ClaudeCodeAdapter:
    """Reads sessions of Claude Code."""

    name = AREA
    version = 1
    unites = False

    def sniff(self, source: Source) -> bool:
        """Tell by lines that say whether they are aside, which no other log of an agent does.

        The first may be without: titles of sessions, and what concerns the session as a whole.
        """
        keys, head = opening_keys(source), source.head
        if keys.isdisjoint(_OPENING):
            return False
        is_line = _MESSAGE.search(head) or _CONTEXT.search(head)
        return keys == _TITLE or bool(_LINKED.search(head) and is_line)

    def read(self, sources: Sequence[Source], options: ReadOptions) -> Iterator[Draft]:
        """Yield one draft a file.

        Gap codes: ``claude_code.unreadable_entry`` (of the file), those of
        :mod:`tracegraph.ingest.claude_code.session` and ``claude_code.duplicate_identical``,
        ``claude_code.duplicate_conflict``.
        """
        for source in sources:
            yield _read(source, options)


def _read(source: Source, options: ReadOptions) -> Draft:
    draft = Draft(keep_content=options.keep_content)
    outside = Losses(source.name, options.strict)
    sessions: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    session = None
    for number, value in enumerate(_values(source, outside), 1):
        if not isinstance(value, dict):
            outside.add("claude_code.unreadable_entry", f"entry {number} is no object")
            continue
        # Lines that name none (summaries) belong to the session that they stand in.
        session = session_of(value) or session
        sessions.setdefault(session or "", []).append((number, value))
    file, ids = PurePosixPath(source.name).stem, FreeIds()
    for found, values in sessions.items():
        losses = Losses(source.name, options.strict)
        entries = [read_entry(value, number, losses) for number, value in values]
        if any(entry.role for entry in entries):
            trace_id = ids.take(_trace_id(found, entries, file))
            if options.only is None or trace_id in options.only:
                _add(draft, trace_id, found or None, entries, source, losses)
    if not draft.traces.first and options.only is None:
        raise InputError(f"{source.name}: holds no message of a session")
    draft.file_gaps.update(outside.counts)
    return draft


def _values(source: Source, losses: Losses) -> Iterator[Any]:
    """Yield the decoded lines.

    Raises:
        InputError: the file is one document that cannot be read.
    """
    is_only, refusal = True, None
    for place, data in documents(source, losses):
        try:
            value = decode_json(data, place, losses)
        except StrictError:
            raise
        except InputError as error:
            refusal = error
            losses.add("claude_code.unreadable_entry", str(error))
            continue
        is_only = False
        lines = value.get("loglines") if isinstance(value, dict) else None
        yield from lines if isinstance(lines, list) else [value]
    if is_only and refusal is not None:
        raise refusal


def _trace_id(session: str, entries: Sequence[Entry], file: str) -> str:
    """Return the session's id; of a sub-agent's own file that of the agent; else the file's."""
    agents = {entry.agent for entry in entries if entry.role}
    if len(agents) == 1 and None not in agents:
        return f"agent-{agents.pop()}"
    return session or file


def _add(
    draft: Draft,
    trace_id: str,
    session: str | None,
    entries: Sequence[Entry],
    source: Source,
    losses: Losses,
) -> None:
    named = {
        version for entry in entries if isinstance(version := entry.values.get("version"), str)
    }
    versions = sorted(filter(_VERSION.fullmatch, named))
    facts = {"started_at": _first_time(entries), "versions": versions or None}
    known = {name: fact for name, fact in facts.items() if fact is not None}
    draft.begin(
        trace_id,
        source=AREA,
        file=source.name,
        file_digest=source.digest,
        session_id=session,
        fidelity=FIDELITY_CODE["order_only"],
        contained=False,
        attributes=dump(known) if known else None,
    )
    Session(draft, entries, losses).add()
    draft.traces.gaps[-1].update(losses.counts)


def _first_time(entries: Sequence[Entry]) -> str | None:
    """Return the earliest time of a line, as it is written.

    Nothing records when a step began, and so when the trace did: this is when it was under way.
    """
    first = min((each for each in entries if each.time >= 0), key=lambda e: e.time, default=None)
    return first.fields.text("timestamp") if first is not None else None

"""AgentDiff's JSON: one run an object, or a baseline envelope of several runs of one scenario.

AgentDiff itself also reads other tools' exports; those are formats of their own here.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from tracegraph.errors import InputError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.agentdiff.draft import add_run
from tracegraph.ingest.agentdiff.records import AREA, ENVELOPE, Document, Run, decode, read_run
from tracegraph.ingest.documents import documents
from tracegraph.ingest.free_ids import FreeIds
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.opening import opening_keys
from tracegraph.ingest.source import Source
from tracegraph.model.draft import Draft

_MEMBERS = frozenset({"trace_id", "agent_name", "task_input", "steps"})
_ENVELOPE = re.compile(rb'"kind"\s*:\s*"' + ENVELOPE.encode() + rb'"')


class AgentdiffAdapter:
    """Reads AgentDiff traces and envelopes."""

    name = AREA
    version = 1
    unites = False

    def sniff(self, source: Source) -> bool:
        """Tell by three of the members that every run has, or by the kind of an envelope."""
        keys = opening_keys(source)
        if "kind" in keys and _ENVELOPE.search(source.head):
            return True
        return len(keys & _MEMBERS) >= 3

    def read(self, sources: Sequence[Source], options: ReadOptions) -> Iterator[Draft]:
        """Yield one draft a file.

        Gap codes: ``agentdiff.unreadable_trace`` (of the file), ``agentdiff.unreadable_step``,
        ``agentdiff.unreadable_field``, ``agentdiff.missing_field``, ``agentdiff.duplicate_step``,
        ``agentdiff.repeated_index``, ``agentdiff.unknown_step_type``,
        ``agentdiff.unknown_status``, ``agentdiff.status_contradicts_error_message``,
        ``agentdiff.missing_parent``, ``agentdiff.self_parent``, ``agentdiff.ambiguous_parent``,
        ``agentdiff.parent_after_child``, ``agentdiff.rollup_differs``.
        """
        for source in sources:
            yield _read_file(source, options)


def _read_file(source: Source, options: ReadOptions) -> Draft:
    """Read the runs of a file; one that cannot be read costs itself only."""
    draft = Draft(keep_content=options.keep_content)
    outside = Losses(source.name, options.strict)
    ids = FreeIds()
    refusal: InputError | None = None
    found = False
    for place, data in documents(source, outside):
        losses = Losses(source.name, options.strict)
        try:
            document = decode(data, place, losses)
        except InputError as error:
            if options.strict:
                raise
            refusal = refusal or error
            outside.add("agentdiff.unreadable_trace", str(error))
            continue
        for run in _runs(document, losses, outside, source, options):
            found = True
            own = run.record.trace_id
            trace_id = ids.take(PurePosixPath(source.name).stem if own in (None, "") else str(own))
            if options.only is None or trace_id in options.only:
                add_run(draft, run, trace_id, source)
    if not found:
        raise refusal or InputError(f"{source.name}: holds no AgentDiff trace")
    draft.file_gaps.update(outside.counts)
    return draft


def _runs(
    document: Document, losses: Losses, outside: Losses, source: Source, options: ReadOptions
) -> Iterator[Run]:
    """Yield the runs of a document; what reading an envelope lost is a loss of the file."""
    if document.envelope is None:
        yield Run(read_run(document.runs[0], "the run", losses), None, losses)
        return
    outside.counts.update(losses.counts)
    for number, value in enumerate(document.runs, 1):
        shown = f"run {number}"
        if not isinstance(value, dict):
            outside.add("agentdiff.unreadable_trace", f"{shown} is no object")
            continue
        losses = Losses(source.name, options.strict)
        yield Run(read_run(value, shown, losses), document.envelope, losses)

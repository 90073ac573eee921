"""agent-lattice's JSON Lines: one event of one run a line, the runs of many sessions in one file.

Two passes: the first notes where the rows of each run lie, the second reads trace by trace. What a
trace is stands in :mod:`tracegraph.ingest.agent_lattice.trace`, the steps of a run in
:mod:`tracegraph.ingest.agent_lattice.run`, the causes between runs in
:mod:`tracegraph.ingest.agent_lattice.team`.
"""

import re
from collections.abc import Iterator, Sequence

from tracegraph.errors import InputError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.agent_lattice.index import Index
from tracegraph.ingest.agent_lattice.trace import add_trace
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.source import Source
from tracegraph.model.draft import Draft

_MARK = re.compile(
    rb'^\s*\{(?=[^\n]*"run_id"\s*:)(?=[^\n]*"(?:session_id|seq)"\s*:)(?=[^\n]*"(?:source|data)"\s*:)'
    rb'(?=[^\n]*"type"\s*:\s*"(?:run_start|user_message|model_request|assistant_message|tool_use|'
    rb'tool_result|result|compaction|team_message|error)")',
    re.MULTILINE,
)
_STEPS_A_DRAFT = 50_000


class AgentLatticeAdapter:
    """Reads agent-lattice traces.

    They do not unite over files: a file holds whole sessions (``dir`` writes one a session,
    ``path`` all of them), and nothing orders the rows of two files.
    """

    name = "agent_lattice"
    version = 1
    unites = False

    def sniff(self, source: Source) -> bool:
        """Tell by a line that is one of its rows."""
        return _MARK.search(source.head) is not None

    def read(self, sources: Sequence[Source], options: ReadOptions) -> Iterator[Draft]:
        """Yield drafts of whole traces, in order of their first row."""
        for source in sources:
            yield from _read_file(source, options)


def _read_file(source: Source, options: ReadOptions) -> Iterator[Draft]:
    outside = Losses(source.name, options.strict)
    index = Index(source, outside)
    if not index.runs:
        raise InputError(f"{source.name}: no line holds a readable agent-lattice row")
    draft = Draft(keep_content=options.keep_content)
    draft.file_gaps.update(outside.counts)
    for trace_id, places in index.traces():
        if options.only is not None and trace_id not in options.only:
            continue
        if len(draft.steps.step_id) >= _STEPS_A_DRAFT:
            yield draft
            draft = Draft(keep_content=options.keep_content)
        add_trace(draft, trace_id, places, source, Losses(source.name, options.strict))
    yield draft

"""SWE-agent's ``.traj`` and mini-swe-agent's ``.traj.json``: one JSON document a run."""

import re
from collections.abc import Iterator, Sequence
from functools import partial

from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.documents import read_documents
from tracegraph.ingest.free_ids import FreeIds
from tracegraph.ingest.opening import opening_keys
from tracegraph.ingest.source import Source
from tracegraph.ingest.swe_agent.draft import add_run
from tracegraph.ingest.swe_agent.run import AREA, Run, read_run
from tracegraph.model.draft import Draft

_ITEM = re.compile(
    rb'"trajectory"\s*:\s*\[\s*\{\s*"(?:action|observation|response|thought|state|execution_time|'
    rb'query|messages|extra_info)"'
)
_HISTORY = re.compile(rb'"history"\s*:\s*\[\s*\{\s*"(?:role|content|agent|message_type|is_demo)"')
_AGENTS = re.compile(rb'"message_type"\s*:\s*"(?:system_prompt|observation|action|demonstration)"')
_THOUGHT = re.compile(rb'"thought"\s*:')
_MINI = re.compile(rb'"mini_version"\s*:|"trajectory_format"\s*:\s*"mini-swe-agent')


class SweAgentAdapter:
    """Reads trajectories."""

    name = AREA
    version = 1
    unites = False

    def sniff(self, source: Source) -> bool:
        """Tell by the first item of a trajectory, by a history with thoughts, or by mini's mark."""
        keys, head = opening_keys(source), source.head
        if "trajectory" in keys and _ITEM.search(head):
            return True
        if "history" in keys and _HISTORY.search(head):
            return bool(_AGENTS.search(head) or _THOUGHT.search(head))
        return not keys.isdisjoint({"info", "messages"}) and bool(_MINI.search(head))

    def read(self, sources: Sequence[Source], options: ReadOptions) -> Iterator[Draft]:
        """Yield one draft a file.

        Gap codes: ``swe_agent.unreadable_trace`` (of the file), ``swe_agent.unreadable_step``,
        ``swe_agent.unreadable_message``, ``swe_agent.unreadable_field``,
        ``swe_agent.result_without_call``, ``swe_agent.attempts_left_out``.
        """
        for source in sources:
            run = partial(read_run, ids=FreeIds())
            yield read_documents(source, options, AREA, run, _trace_id, add_run)


def _trace_id(run: Run) -> str:
    return run.trace_id

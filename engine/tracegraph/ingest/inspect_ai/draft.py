"""A sample to a trace in a draft."""

from tracegraph.ingest.inspect_ai.conversation import add_conversation
from tracegraph.ingest.inspect_ai.events import EventReader
from tracegraph.ingest.inspect_ai.log import AREA
from tracegraph.ingest.inspect_ai.sample import Sample
from tracegraph.ingest.measures import nanoseconds
from tracegraph.ingest.source import Source
from tracegraph.ingest.spans.trace import add_trace
from tracegraph.model.codes import FIDELITY_CODE
from tracegraph.model.draft import Draft

_PARENT_ONLY = FIDELITY_CODE["parent_only"]
_TURNS = ("model", "tool")


def add_sample(draft: Draft, sample: Sample, source: Source) -> None:
    """Append a sample: from its events, or from its messages where no event tells of a turn."""
    if sample.messages and not any(map(_is_turn, sample.events)):
        add_conversation(draft, sample, source)
        return
    reader = EventReader(sample, keep_content=draft.keep_content)
    trace = reader.read()
    trace.gaps.update(sample.losses.counts)
    first = len(draft.steps.step_id)
    add_trace(draft, trace, AREA, source.name, source.digest, _PARENT_ONLY)
    for row, step_id in enumerate(trace.spans, first):
        seconds = reader.seconds.get(step_id)
        if seconds is not None:
            draft.steps.duration[row] = nanoseconds(seconds * 1_000)


def _is_turn(event: object) -> bool:
    return isinstance(event, dict) and event.get("event") in _TURNS

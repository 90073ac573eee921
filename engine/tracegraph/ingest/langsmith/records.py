"""LangSmith's runs as they are decoded, one by one out of whatever holds them.

Exports nest runs under ``child_runs``, list them flat, or wrap a page of them in ``runs``. Of the
many members of a run only those that say something about its step are typed; all stay at hand for
whoever keeps content.
"""

import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from tracegraph.ingest.losses import Losses
from tracegraph.ingest.salvage import Id, read_record

AREA = "langsmith"
_SEGMENT = re.compile(r"\d{8}T\d{6,12}Z(.+)", re.ASCII)
_NESTED = "child_runs"


class RunRecord(Struct):
    """One run. Counts and costs may be written as numbers or as text.

    Status and error are taken whatever their type is: one that cannot be read must not be mistaken
    for one that is absent.
    """

    id: Id
    name: str | None = None
    run_type: str | None = None
    start_time: str | int | float | None = None
    end_time: str | int | float | None = None
    status: Any = None
    error: Any = None
    inputs: Any = None
    outputs: Any = None
    extra: dict[str, Any] | None = None
    trace_id: str | None = None
    parent_run_id: str | None = None
    dotted_order: str | None = None
    session_name: str | None = None
    usage_metadata: dict[str, Any] | None = None
    prompt_tokens: Any = None
    completion_tokens: Any = None
    total_tokens: Any = None
    total_cost: Any = None

    @property
    def metadata(self) -> dict[str, Any]:
        """What the framework and the user said of the run."""
        found = (self.extra or {}).get("metadata")
        return found if isinstance(found, dict) else {}

    def lineage(self) -> list[str]:
        """Return the ids in ``dotted_order``, from the root to the run itself."""
        segments = [_SEGMENT.fullmatch(part) for part in (self.dotted_order or "").split(".")]
        return [segment[1] for segment in segments if segment is not None]


class Found(Struct):
    """A run where it was found.

    Attributes:
        value: as decoded.
        holder: id of the run that it is nested in.
        root: id of the trace, where the run at the top of the nesting says it.
    """

    value: Any
    holder: str | None = None
    root: str | None = None


def runs_in(value: Any) -> Iterator[Found]:
    """Yield the runs of a decoded document, each before those that are nested in it."""
    if isinstance(value, dict) and isinstance(value.get("runs"), list):
        value = value["runs"]
    items = value if isinstance(value, list) else [value]
    waiting = [Found(item) for item in reversed(items)]
    while waiting:
        found = waiting.pop()
        yield found
        run = found.value if isinstance(found.value, dict) else {}
        nested = run.get(_NESTED)
        if nested is not None:
            own, trace_id = run.get("id"), run.get("trace_id")
            holder = own if isinstance(own, str) else None
            root = found.root or (trace_id if isinstance(trace_id, str) else None)
            root = root or (holder if found.holder is None else None)
            held = nested if isinstance(nested, list) else [nested]
            waiting += [Found(item, holder, root) for item in reversed(held)]


def read_run(value: Any, shown: str, losses: Losses) -> RunRecord | None:
    """Make a run of a decoded object; None where it has no id.

    Gap code: ``langsmith.unreadable_field``.
    """
    return read_record(RunRecord, value, shown, AREA, losses)


def rest_of(value: dict[str, Any]) -> dict[str, Any]:
    """Return what a run says besides its bodies and the runs in it."""
    bodies = ("inputs", "outputs", _NESTED)
    return {key: item for key, item in value.items() if key not in bodies and item is not None}

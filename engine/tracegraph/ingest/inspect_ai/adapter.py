"""Inspect logs: one JSON document, or a ZIP file with a member for each sample; one trace a sample.

Where the events of a sample are recorded they tell times, containers and what each model was given;
else the messages of the conversation are all there is, and order with them.
"""

import re
from collections.abc import Iterator, Sequence

from tracegraph.errors import InputError, RecordLimitError, StrictError, UnpackedLimitError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.free_ids import FreeIds
from tracegraph.ingest.inspect_ai.draft import add_sample
from tracegraph.ingest.inspect_ai.log import AREA, HEADERS, SAMPLES, Log, open_log
from tracegraph.ingest.inspect_ai.sample import Sample, read_sample
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.opening import opening_keys
from tracegraph.ingest.source import Source
from tracegraph.ingest.zip_file import is_zip
from tracegraph.model.draft import Draft

_MEMBERS = frozenset({"status", "eval"})
_EVALUATION = re.compile(rb'"eval"\s*:\s*\{')
_NAMED = re.compile(rb'"(?:run_id|eval_id|task_id|task)"\s*:')
_FIRST_MEMBER = 30
"""Where the name of a ZIP file's first member stands."""
_STEPS_A_DRAFT = 50_000


class InspectAiAdapter:
    """Reads the samples of evaluations."""

    name = AREA
    version = 1
    unites = False

    def sniff(self, source: Source) -> bool:
        """Tell by the evaluation at the start of the document, or by the first member's name."""
        if is_zip(source):
            name = source.head[_FIRST_MEMBER : _FIRST_MEMBER + 64]
            return name.startswith((*(each.encode() for each in HEADERS), SAMPLES.encode()))
        if not opening_keys(source) >= _MEMBERS:
            return False
        return bool(_EVALUATION.search(source.head) and _NAMED.search(source.head))

    def read(self, sources: Sequence[Source], options: ReadOptions) -> Iterator[Draft]:
        """Yield the samples of each file.

        Gap codes: those of :mod:`tracegraph.ingest.span_gaps`, ``files.damaged`` and
        ``inspect_ai.unreadable_sample`` (of the file), ``inspect_ai.no_header``,
        ``inspect_ai.unreadable_event``, ``inspect_ai.unreadable_message``,
        ``inspect_ai.unreadable_field``, ``inspect_ai.unknown_event``,
        ``inspect_ai.unresolved_attachment``, ``inspect_ai.unresolved_message``,
        ``inspect_ai.result_without_call``, ``inspect_ai.scores_left_out``,
        ``inspect_ai.earlier_attempts``.
        """
        for source in sources:
            yield from _read(source, options)


def _read(source: Source, options: ReadOptions) -> Iterator[Draft]:
    outside = Losses(source.name, options.strict)
    log = open_log(source, outside)
    draft = Draft(keep_content=options.keep_content)
    refusals: list[InputError] = []
    found = False
    for sample in _samples(source, log, outside, refusals, options.strict):
        found = True
        if options.only is None or sample.trace_id in options.only:
            add_sample(draft, sample, source)
        if len(draft.steps.step_id) >= _STEPS_A_DRAFT:
            yield draft
            draft = Draft(keep_content=options.keep_content)
    if not found:
        status = log.evaluation.status or "unknown"
        raise next(iter(refusals), None) or InputError(
            f"{source.name}: a log (status {status}) without samples; name one that holds them"
        )
    draft.file_gaps.update(outside.counts)
    yield draft


def _samples(
    source: Source, log: Log, outside: Losses, refusals: list[InputError], strict: bool
) -> Iterator[Sample]:
    """Yield the samples; one that cannot be read costs itself only.

    Raises:
        StrictError: strict, and one cannot be read.
    """
    ids = FreeIds()
    for place, load in log.samples:
        losses = Losses(source.name, strict)
        try:
            yield read_sample(load(losses), place, log.evaluation, ids, losses)
        except (RecordLimitError, StrictError, UnpackedLimitError):
            raise
        except InputError as error:
            refusals.append(error)
            what = str(error).removeprefix(source.name).lstrip(": ")
            outside.add("inspect_ai.unreadable_sample", what)

"""From a decoded trace artifact to a draft: columns in bulk, losses disclosed."""

from collections.abc import Mapping
from typing import Any

from tracegraph.ingest.artifact.records import ArtifactRecord, CauseRecord, StepRecord
from tracegraph.ingest.attributes import dump
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.measures import decimal_text, nanosecond_column
from tracegraph.ingest.source import Source
from tracegraph.ingest.times import UNREADABLE, parse_times
from tracegraph.model.codes import (
    EVIDENCE,
    EVIDENCE_CODE,
    FIDELITY_CODE,
    KIND_CODE,
    ORIGIN_CODE,
    ORIGINS,
    SIGNAL_BIT,
    STATUS_CODE,
    UNKNOWN,
    evidence_of,
)
from tracegraph.model.draft import Draft
from tracegraph.model.seal import SEALED_GAPS

_EVIDENCE_WORDS = EVIDENCE[1:]  # without the one that marks the absence of an edge
_KNOWN_AS = {
    (origin, evidence): (
        ORIGIN_CODE[origin or "edge"],
        EVIDENCE_CODE[evidence] if evidence else evidence_of(origin or "edge"),
    )
    for origin in (None, *ORIGINS)
    for evidence in (None, *_EVIDENCE_WORDS)
}
"""Origin and evidence as written -> their codes; what is left out follows from the rest."""


def add_trace(draft: Draft, record: ArtifactRecord, source: Source, losses: Losses) -> None:
    """Append the artifact's trace to the draft, under the source and file that it records."""
    header = record.trace
    draft.begin(
        header.trace_id,
        source=header.source or "artifact",
        file=header.file or source.name,
        file_digest=header.file_digest if header.file else source.digest,
        run_id=header.run_id,
        session_id=header.session_id,
        agent=header.agent,
        fidelity=_word("fidelity", header.fidelity, FIDELITY_CODE, 0, losses),
        contained=header.contained is not False,
        status=_word("status", header.status, STATUS_CODE, UNKNOWN, losses),
        attributes=_object(header.attributes),
    )
    first = len(draft.steps.step_id)
    steps = record.steps
    rows = {step.step_id: first + i for i, step in enumerate(steps)}
    if len(rows) < len(steps):
        steps = _distinct(steps, losses)
        rows = {step.step_id: first + i for i, step in enumerate(steps)}
    _add_steps(draft, steps, losses)
    _add_causes(draft, record.causes, rows, losses)
    gaps = draft.traces.gaps[-1]
    for gap in header.gaps:
        if gap.code not in SEALED_GAPS:  # those are counted anew when the draft is sealed
            gaps[gap.code] += gap.count
    gaps.update(losses.counts)


def _distinct(steps: list[StepRecord], losses: Losses) -> list[StepRecord]:
    """Keep, of steps with one id, the one that ends last (the first of equals)."""
    chosen: dict[str, tuple[int, StepRecord]] = {}
    for step, end in zip(steps, parse_times([s.ended_at for s in steps]), strict=True):
        known = chosen.get(step.step_id)
        if known is not None:
            losses.add("artifact.duplicate_step", f"step {step.step_id!r} is there twice")
        if known is None or end > known[0]:
            chosen[step.step_id] = (end, step)
    return [step for _, step in chosen.values()]


def _add_steps(draft: Draft, steps: list[StepRecord], losses: Losses) -> None:
    into, count = draft.steps, len(steps)
    into.step_id += [s.step_id for s in steps]
    into.kind += _words(steps, "kind", [s.kind for s in steps], KIND_CODE, losses)
    into.name += [s.name for s in steps]
    into.status += _words(steps, "status", [s.status for s in steps], STATUS_CODE, losses)
    into.status_source += [s.status_source for s in steps]
    into.agent += [s.agent for s in steps]
    into.model += [s.model for s in steps]
    times = _times(steps, losses)
    into.start += times[:count]
    into.end += times[count:]
    into.duration += _durations(steps, losses)
    into.error_type += [s.error_type for s in steps]
    into.error_message += [s.error_message for s in steps]
    into.tokens_prompt += [UNKNOWN if s.tokens_prompt is None else s.tokens_prompt for s in steps]
    into.tokens_completion += [
        UNKNOWN if s.tokens_completion is None else s.tokens_completion for s in steps
    ]
    into.tokens_total += [UNKNOWN if s.tokens_total is None else s.tokens_total for s in steps]
    into.cost += [None if s.cost is None else _cost(s, s.cost, losses) for s in steps]
    into.tool_call_id += [s.tool_call_id for s in steps]
    into.args += [s.args_digest for s in steps]
    into.result += [s.result_digest for s in steps]
    into.args_size += [UNKNOWN if s.args_size is None else s.args_size for s in steps]
    into.result_size += [UNKNOWN if s.result_size is None else s.result_size for s in steps]
    into.docs += [UNKNOWN if s.docs is None else s.docs for s in steps]
    into.signals += [_signals(s, s.signals, losses) if s.signals else 0 for s in steps]
    into.wrapper += [s.wrapper is True for s in steps]
    into.orphan += [s.orphan is True for s in steps]
    into.unknown_fields += [
        ",".join(sorted(set(s.unknown_fields))) if s.unknown_fields else None for s in steps
    ]
    if draft.keep_content:
        into.input += [s.input for s in steps]
        into.output += [s.output for s in steps]
        into.attributes += [_object(s.attributes) for s in steps]


def _add_causes(
    draft: Draft, causes: list[CauseRecord], rows: dict[str, int], losses: Losses
) -> None:
    try:
        effect, cause = [rows[c.effect] for c in causes], [rows[c.cause] for c in causes]
        known = [_KNOWN_AS[c.origin, c.evidence] for c in causes]
    except KeyError:
        causes = _mended(draft, causes, rows, losses)
        effect, cause = [rows[c.effect] for c in causes], [rows[c.cause] for c in causes]
        known = [_KNOWN_AS[c.origin, c.evidence] for c in causes]
    draft.effect += effect
    draft.cause += cause
    draft.origin += [origin for origin, _ in known]
    draft.evidence += [evidence for _, evidence in known]


def _mended(
    draft: Draft, causes: list[CauseRecord], rows: dict[str, int], losses: Losses
) -> list[CauseRecord]:
    """Return the causes between known steps, those with unknown words as weak ones."""
    mended: list[CauseRecord] = []
    for c in causes:
        if c.effect not in rows or c.cause not in rows:
            missing = c.cause if c.effect in rows else c.effect
            losses.add("artifact.dangling_cause", f"a cause names step {missing!r}, not there")
            if c.effect in rows:
                draft.steps.orphan[rows[c.effect]] = True
            continue
        origin, evidence = c.origin, c.evidence
        if (origin, None) not in _KNOWN_AS:
            losses.add("artifact.unknown_word", f"a cause's origin {origin!r} is unknown")
            origin, evidence = "legacy_unknown", None
        if (None, evidence) not in _KNOWN_AS:
            losses.add("artifact.unknown_word", f"a cause's evidence {evidence!r} is unknown")
            evidence = "heuristic"
        mended.append(CauseRecord(c.effect, c.cause, origin, evidence))
    return mended


def _words(
    steps: list[StepRecord],
    field: str,
    words: list[str | None],
    codes: Mapping[str, int],
    losses: Losses,
) -> list[int]:
    """Return the codes of words; one that is left out or unknown has the first code."""
    found = [0 if word is None else codes.get(word, UNKNOWN) for word in words]
    if UNKNOWN in found:
        for step, word, code in zip(steps, words, found, strict=True):
            if code == UNKNOWN:
                _unknown_word(f"step {step.step_id!r}", field, word, codes, losses)
        found = [max(code, 0) for code in found]
    return found


def _word(
    field: str, word: str | None, codes: Mapping[str, int], default: int, losses: Losses
) -> int:
    if word is not None and word not in codes:
        _unknown_word("trace", field, word, codes, losses)
    return default if word is None else codes.get(word, default)


def _unknown_word(
    where: str, field: str, word: str | None, codes: Mapping[str, int], losses: Losses
) -> None:
    known = ", ".join(codes)
    losses.add("artifact.unknown_word", f"{where}: {field} {word!r} is none of {known}")


def _unreadable(step: StepRecord, what: str, losses: Losses) -> None:
    losses.add("artifact.unreadable_field", f"step {step.step_id!r}: {what}")


def _times(steps: list[StepRecord], losses: Losses) -> list[int]:
    """Return the starts, then the ends."""
    times = parse_times([s.started_at for s in steps] + [s.ended_at for s in steps])
    if UNREADABLE in times:
        for step, time in zip(steps * 2, times, strict=True):
            if time == UNREADABLE:
                _unreadable(step, "started_at or ended_at is no time", losses)
        times = [max(time, UNKNOWN) for time in times]
    return times


def _durations(steps: list[StepRecord], losses: Losses) -> list[int]:
    durations = nanosecond_column([s.duration_ms for s in steps])
    for step, ns in zip(steps, durations, strict=True):
        if ns == UNKNOWN and step.duration_ms is not None:
            _unreadable(step, "duration_ms is out of range", losses)
    return durations


def _cost(step: StepRecord, cost: str | float, losses: Losses) -> str | None:
    text = decimal_text(cost)
    if text is None:
        _unreadable(step, f"cost {cost!r} is no decimal", losses)
    return text


def _signals(step: StepRecord, words: list[str], losses: Losses) -> int:
    mask = 0
    for word in words:
        if word not in SIGNAL_BIT:
            _unknown_word(f"step {step.step_id!r}", "signal", word, SIGNAL_BIT, losses)
        mask |= SIGNAL_BIT.get(word, 0)
    return mask


def _object(value: dict[str, Any] | None) -> str | None:
    return None if value is None else dump(value)

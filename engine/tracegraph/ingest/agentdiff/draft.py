"""From an AgentDiff run to a trace in a draft.

The format has no times: ``latency_ms`` is a step's duration, order is that of ``step_index`` where
all have one of their own, else that of the list. Routing steps and thoughts are CHAIN, the agent's
own logic: neither model nor tool. What is recorded of the run and is a body (task, answer,
metadata) is kept with its first step, since a trace keeps none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tracegraph.ingest.agentdiff.causes import (
    MODEL,
    ROUTING,
    THOUGHT,
    TOOL,
    Causes,
    find_causes,
)
from tracegraph.ingest.agentdiff.records import (
    AREA,
    Envelope,
    Run,
    RunRecord,
    StepRecord,
    body_text,
)
from tracegraph.ingest.agentdiff.status import Outcome, failed_without_answer, read_outcome
from tracegraph.ingest.agentdiff.usage import Tokens, check_totals, read_tokens
from tracegraph.ingest.attributes import Attributes, dump
from tracegraph.ingest.free_ids import FreeIds
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.measures import nanoseconds
from tracegraph.ingest.source import Source
from tracegraph.ingest.tool_payload import ToolPayload, read_arguments, read_payload
from tracegraph.model.codes import FIDELITY_CODE, KIND_CODE, SIGNAL_BIT, STATUS_CODE, UNKNOWN
from tracegraph.model.draft import Draft

_KINDS = {MODEL: "LLM", TOOL: "TOOL", ROUTING: "CHAIN", THOUGHT: "CHAIN"}
_NEEDED = ("step_id", "step_index", "step_type", "name")
_NEEDED_OF_RUN = ("trace_id", "agent_name", "task_input")
_MODEL_NAMES = ("model", "llm.model_name", "gen_ai.response.model", "gen_ai.request.model")
_SESSIONS = ("session_id", "session.id", "thread_id")
_FINAL_ANSWER = SIGNAL_BIT["final_answer"]
_ERROR = STATUS_CODE["error"]


@dataclass(slots=True)
class _Read:
    """A step as read: its record, and what follows from it."""

    record: StepRecord
    given: str | None
    made: str | None
    payload: ToolPayload | None
    outcome: Outcome
    tokens: Tokens


def add_run(draft: Draft, read: Run, trace_id: str, source: Source) -> None:
    """Append the run to the draft as a trace."""
    run, losses = read.record, read.losses
    _disclose_missing(run, _NEEDED_OF_RUN, "the run", losses)
    recorded = run.steps or []
    order, is_indexed = _order(recorded, losses)
    steps = [_read(recorded[at], draft.keep_content, losses) for at in order]
    records = [step.record for step in steps]
    causes = find_causes(records, run.task_input, is_indexed, losses)
    totals = read_tokens(run.total_tokens, "the run", losses)
    check_totals(totals, [step.tokens for step in steps], losses)
    is_contained = _is_contained(run, steps, causes)
    is_lost = not is_contained and failed_without_answer(
        records, [step.outcome for step in steps], run.final_output
    )
    first = draft.begin(
        trace_id,
        source=AREA,
        file=source.name,
        file_digest=source.digest,
        run_id=None if run.trace_id is None else str(run.trace_id),
        session_id=Attributes(run.metadata or {}).text(*_SESSIONS),
        agent=run.agent_name,
        fidelity=FIDELITY_CODE["parent_only" if causes.linked else "order_only"],
        contained=is_contained,
        status=_ERROR if is_lost else UNKNOWN,
        attributes=body_text(_facts(run, totals, read.envelope), "the run", losses),
    )
    answering = _answering(steps, causes, run.final_output)
    for at, step_id in enumerate(_step_ids(steps, losses)):
        signals = _FINAL_ANSWER if at == answering else 0
        _add_step(draft, step_id, steps[at], signals, None if at else run, losses)
    _add_causes(draft, first, steps, causes)
    draft.traces.gaps[-1].update(losses.counts)


def _order(steps: Sequence[StepRecord], losses: Losses) -> tuple[list[int], bool]:
    """Return the positions of the steps in order, and whether their indexes give that order.

    Gap code: ``agentdiff.repeated_index``.
    """
    indexes = [step.step_index for step in steps]
    known = [index for index in indexes if index is not None]
    if len(known) < len(steps):
        return list(range(len(steps))), False  # disclosed where the step is read
    if len(set(known)) < len(known):
        losses.add("agentdiff.repeated_index", "steps share an index: order is that of the list")
        return list(range(len(steps))), False
    return sorted(range(len(steps)), key=known.__getitem__), True


def _step_ids(steps: Sequence[_Read], losses: Losses) -> list[str]:
    """Return an id for each step: its own, numbered where an earlier step has it.

    Gap code: ``agentdiff.duplicate_step``.
    """
    own = [
        f"step-{at}" if step.record.step_id in (None, "") else str(step.record.step_id)
        for at, step in enumerate(steps, 1)
    ]
    free = FreeIds(own)
    ids = [free.take(step_id) for step_id in own]
    repeated = [mine for mine, given in zip(own, ids, strict=True) if mine != given]
    for step_id in repeated:
        losses.add("agentdiff.duplicate_step", f"step id {step_id!r} is there again")
    return ids


def _read(step: StepRecord, keeps_content: bool, losses: Losses) -> _Read:
    shown = f"step {step.step_id!r}"
    _disclose_missing(step, _NEEDED, shown, losses)
    if step.step_type is not None and step.step_type not in _KINDS:
        losses.add("agentdiff.unknown_step_type", f"{shown}: a type of {step.step_type!r}")
    given = made = payload = None
    if step.step_type == TOOL or keeps_content:
        given = body_text(step.input_payload, f"{shown}: input_payload", losses)
        made = body_text(step.output_payload, f"{shown}: output_payload", losses)
    if step.step_type == TOOL:
        payload = read_payload(given, made)
    tokens = read_tokens(step.tokens, shown, losses)
    return _Read(step, given, made, payload, read_outcome(step, payload, losses), tokens)


def _disclose_missing(
    record: StepRecord | RunRecord, needed: Sequence[str], shown: str, losses: Losses
) -> None:
    for name in needed:
        if getattr(record, name) is None:
            losses.add("agentdiff.missing_field", f"{shown} has no {name}")


def _is_contained(run: RunRecord, steps: Sequence[_Read], causes: Causes) -> bool:
    """Tell whether the only root is a container that was given the task and gave the answer."""
    roots = [
        at for at in range(len(steps)) if at not in causes.parents and at not in causes.orphans
    ]
    if len(roots) != 1 or roots[0] not in causes.containers:
        return False
    root = steps[roots[0]]
    has_ended = root.record.output_payload is not None or root.outcome.status == _ERROR
    return (
        has_ended
        and _equal(root.record.input_payload, run.task_input)
        and _equal(root.record.output_payload, run.final_output)
    )


def _answering(steps: Sequence[_Read], causes: Causes, answer: Any) -> int | None:
    """Return the last step whose output is the answer of the run; containers only repeat it."""
    if not answer:
        return None
    for at in range(len(steps) - 1, -1, -1):
        if at not in causes.containers and _equal(steps[at].record.output_payload, answer):
            return at
    return None


def _equal(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except RecursionError:
        return False


def _add_step(
    draft: Draft, step_id: str, step: _Read, signals: int, run: RunRecord | None, losses: Losses
) -> None:
    """Append a step; ``run`` is given with the first, which keeps the bodies of the run."""
    record, outcome, tokens = step.record, step.outcome, step.tokens
    payload = step.payload or ToolPayload()
    is_model = record.step_type == MODEL
    draft.step(
        step_id,
        kind=KIND_CODE[_KINDS.get(record.step_type or "", "UNKNOWN")],
        name=record.name,
        status=outcome.status,
        status_source=outcome.source,
        model=Attributes(record.metadata or {}).text(*_MODEL_NAMES) if is_model else None,
        duration=nanoseconds(record.latency_ms or None),  # zero: not measured
        error_message=outcome.message,
        tokens_prompt=tokens.prompt,
        tokens_completion=tokens.completion,
        tokens_total=tokens.total,
        cost=tokens.cost,
        tool_call_id=payload.call_id,
        args=payload.args,
        result=payload.result,
        args_size=payload.args_size,
        result_size=payload.result_size,
        signals=outcome.signals | signals,
        input=step.given,
        output=step.made,
        attributes=_attributes(record, run, losses) if draft.keep_content else None,
    )


def _add_causes(draft: Draft, first: int, steps: Sequence[_Read], causes: Causes) -> None:
    for effect, cause, origin in causes.edges:
        draft.link(first + effect, first + cause, origin)
    for orphan in causes.orphans:
        draft.steps.orphan[first + orphan] = True
    for at, (asker, call_id) in causes.calls.items():
        draft.steps.tool_call_id[first + at] = call_id
        asked = steps[asker].record.input_payload
        if isinstance(asked, dict) and "arguments" in asked:  # the result's input is the id only
            payload = ToolPayload()
            read_arguments(dump(asked["arguments"]), payload)
            draft.steps.args[first + at] = payload.args
            draft.steps.args_size[first + at] = payload.args_size


def _facts(run: RunRecord, totals: Tokens, envelope: Envelope | None) -> dict[str, Any] | None:
    """Return what is recorded of the run that is no body and has no column."""
    facts: dict[str, Any] = {
        "agent_version": run.agent_version,
        "schema_version": run.schema_version,
        "total_cost": totals.cost,
        "total_latency_ms": run.total_latency_ms or None,
        "total_tokens": totals.total if totals.total >= 0 else None,
    }
    if envelope is not None:
        facts |= {
            "generator_version": envelope.generator_version,
            "mode": envelope.mode,
            "recorded_at": envelope.recorded_at,
            "scenario": envelope.scenario,
        }
    return _known(facts)


def _attributes(step: StepRecord, run: RunRecord | None, losses: Losses) -> str | None:
    held: dict[str, Any] = {
        "metadata": step.metadata or None,
        "parent_id": step.parent_id,
        "step_index": step.step_index,
        "step_type": step.step_type,
    }
    if run is not None:
        held |= {
            "run.final_output": run.final_output,
            "run.metadata": run.metadata or None,
            "run.task_input": run.task_input,
        }
    return body_text(_known(held), f"step {step.step_id!r}: metadata", losses)


def _known(held: dict[str, Any]) -> dict[str, Any] | None:
    return {name: value for name, value in sorted(held.items()) if value is not None} or None

"""A run to a trace in a draft."""

from tracegraph.ingest.attributes import dump
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.source import Source
from tracegraph.ingest.swe_agent.mini import Mini
from tracegraph.ingest.swe_agent.outcome import ERROR, outcome_of
from tracegraph.ingest.swe_agent.run import AREA, Run, facts_of
from tracegraph.ingest.swe_agent.trajectory import Trajectory
from tracegraph.model.codes import FIDELITY_CODE, KIND_CODE
from tracegraph.model.draft import Draft


def add_run(draft: Draft, run: Run, source: Source, losses: Losses) -> None:
    """Append a run.

    Gap code: ``swe_agent.attempts_left_out``.
    """
    info = run.fields.inner("info")
    draft.begin(
        run.trace_id,
        source=AREA,
        file=source.name,
        file_digest=source.digest,
        fidelity=FIDELITY_CODE["order_only"],
        contained=False,
    )
    said: str | None = None
    if "messages" in run.fields.values:
        mini = Mini(draft, run, losses)
        mini.read()
        outcome, has_end, said = outcome_of(info, raised=mini.raised), False, mini.said
    else:
        outcome = outcome_of(info)
        trajectory = Trajectory(draft, run, outcome, losses)
        trajectory.read()
        has_end = trajectory.has_end
    if outcome.status == ERROR and not has_end:  # which step failed is not recorded
        draft.step(
            "exit",
            kind=KIND_CODE["CHAIN"],
            name=outcome.word,
            status=ERROR,
            status_source="recorded",
            error_type=outcome.word,
            error_message=said,
        )
    others = len(run.fields.items("attempts")) - 1
    if others > 0:
        what = f"{run.trace_id}: other attempts than the one that was chosen"
        losses.add("swe_agent.attempts_left_out", what, others)
    agents = set(draft.steps.agent[draft.traces.first[-1] :]) - {None}
    draft.traces.agent[-1] = agents.pop() if len(agents) == 1 else None
    draft.traces.status[-1] = outcome.status
    draft.traces.attributes[-1] = dump(facts_of(run, outcome, losses))
    draft.traces.gaps[-1].update(losses.counts)

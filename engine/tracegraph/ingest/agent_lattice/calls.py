"""Which model step of an agent-lattice run asked for which call, and which one read its result."""

from collections.abc import Collection, Sequence

from tracegraph.ingest.agent_lattice.steps import Steps
from tracegraph.ingest.agent_lattice.tools import Use
from tracegraph.ingest.call_steps import ModelStep, ToolStep
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.message_causes import message_causes
from tracegraph.model.codes import SIGNAL_BIT


def link_calls(
    steps: Steps,
    models: Sequence[ModelStep],
    uses: Sequence[Use],
    inferred: Collection[int],
    losses: Losses,
) -> dict[int, list[int]]:
    """Link the calls of one run, each run by itself: ids start anew in every run.

    Gap code: ``agent_lattice.unrequested_tool``.

    Args:
        steps: of the run.
        models: its model steps.
        uses: its calls; lines of the file serve as time.
        inferred: model steps whose batch is not recorded.
        losses: where doubts are disclosed.

    Returns:
        The model steps that read a call's result, by row of the call.
    """
    path = (steps.run,)
    found = message_causes(
        models,
        [ToolStep(u.row, (u.line, u.row), path, u.name, u.call_id, u.args, u.end) for u in uses],
    )
    tools = {use.row for use in uses}
    readers: dict[int, list[int]] = {}
    requested: set[int] = set()
    for effect, cause, origin in found.edges:
        if effect in tools:
            requested.add(effect)
        else:
            readers.setdefault(cause, []).append(effect)
        steps.link(effect, cause, "protocol" if effect in inferred else origin)
    for row, digest in found.args.items():
        steps.columns.args[row] = digest
    for row, mask in found.signals.items():
        steps.columns.signals[row] |= mask
    _signal_unknown(steps, models, uses)
    _explain_unrequested(steps, [use for use in uses if use.row not in requested], losses)
    return readers


def _signal_unknown(steps: Steps, models: Sequence[ModelStep], uses: Sequence[Use]) -> None:
    """Mark model steps that asked for what was not on offer: here such a call is a failed step."""
    offered = {model.row: model.messages.offered for model in models}
    for use in uses:
        names = offered.get(use.turn)
        if use.failed and names is not None and use.name is not None and use.name not in names:
            steps.columns.signals[use.turn] |= SIGNAL_BIT["unknown_tool"]


def _explain_unrequested(steps: Steps, uses: Sequence[Use], losses: Losses) -> None:
    """Give calls of a turn whose assistant_message is not recorded the model step of that turn.

    Where it is recorded and did not ask for the call, nothing tells who did.
    """
    for use in uses:
        if not use.heard and use.turn >= 0:
            steps.link(use.row, use.turn, "protocol")
        elif use.heard:
            what = f"line {use.line}: nobody asked for call {use.call_id!r}"
            losses.add("agent_lattice.unrequested_tool", what)

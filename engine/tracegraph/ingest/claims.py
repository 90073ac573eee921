"""Which request a tool step with an id ran."""

from collections import defaultdict

from tracegraph.ingest.call_steps import Conversation, ModelStep, ToolStep
from tracegraph.ingest.requests import OpenById, Request, suits


def claim_by_id(conversation: Conversation) -> dict[int, Request]:
    """Give each tool step that has an id the request of that id that it ran, by row.

    Its own conversation's come first, for all tool steps, and the open ones before those whose
    result was read, which only differing clocks or a run without reader explain.
    """
    opened, closed = OpenById(), OpenById()
    claims: dict[int, Request] = {}
    beyond: list[ToolStep] = []
    for step in conversation.steps:
        if isinstance(step, ModelStep):
            if conversation.repeated and step.went_on:
                _close_read(conversation, step, opened, closed)
            for request in conversation.requests[step.row]:
                opened.push(request)
        elif step.call_id is not None and not conversation.is_inner(step):
            found = opened.ran_by(step.call_id, step.path, step.name, step.args)
            found = found or closed.ran_by(step.call_id, step.path, step.name, step.args)
            if found is None:
                beyond.append(step)
            else:
                found.claimed = True
                claims[step.row] = found
    if beyond:
        _claim_beyond(conversation, beyond, claims)
    return claims


def _close_read(
    conversation: Conversation, step: ModelStep, opened: OpenById, closed: OpenById
) -> None:
    """Close what a model step read, which matters where a later call has the same id."""
    for call_id, times in conversation.heard(step).items():
        for request in opened.own(call_id, step.path, times) or ():
            opened.remove(request)
            closed.push(request)


def _claim_beyond(
    conversation: Conversation, tools: list[ToolStep], claims: dict[int, Request]
) -> None:
    """Pair tool steps with what no tool step of the conversation that asked has run."""
    unclaimed: defaultdict[str | None, list[Request]] = defaultdict(list)
    for model in sorted(conversation.models, key=lambda model: model.when):
        for request in conversation.requests[model.row]:
            if not request.claimed:
                unclaimed[request.call.id].append(request)
    for step in tools:
        requests = unclaimed[step.call_id]
        at = _last_before(requests, step)
        if at is not None:
            request = requests.pop(at)
            request.claimed = True
            claims[step.row] = request


def _last_before(requests: list[Request], step: ToolStep) -> int | None:
    if len(requests) == 1:  # whenever it came: clocks differ between hosts, ids do not
        return 0
    for at in range(len(requests) - 1, -1, -1):
        if requests[at].when <= step.when and suits(requests[at], step.name):
            return at
    return None

"""What the SDK's runner does between its spans, where no message tells it.

The default model class records the id of a response and none of its messages, so nothing but the
order of the runner's loop (``agents.run``, ``agents.run_internal``) says what caused what. An
agent's span holds the loop, in newer releases each round in a span of its turn. After a handoff the
runner opens the span of the agent that it is to, beside that of the agent that handed off; its
first model is given what is still unread.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from tracegraph.ingest.openai_agents.fields import AgentSpan
from tracegraph.ingest.spans.causes import when
from tracegraph.ingest.spans.loop import Answer, Link, Loop
from tracegraph.ingest.status import ERROR, OK, UNSET, Verdict
from tracegraph.ingest.step_fields import LLM, TOOL

_INNER = "inner_error"
"""Decides the status of a span that the runner leaves without the error which ended what it ran."""


class Runs:
    """The spans of one trace in the order of the runner's loop.

    Args:
        spans: in the order of the source.
    """

    def __init__(self, spans: Iterable[AgentSpan]) -> None:
        timed = [(when(span, i), span) for i, span in enumerate(spans)]
        self._spans = [span for _, span in sorted(timed, key=lambda item: item[0])]
        self._below: defaultdict[str | None, list[AgentSpan]] = defaultdict(list)
        self._agents: defaultdict[str | None, list[AgentSpan]] = defaultdict(list)
        self._by_id = {span.step_id: span for span in self._spans}
        for span in self._spans:
            self._below[span.parent].append(span)
            if span.work == "agent":
                self._agents[span.parent].append(span)

    def tell_agents(self) -> None:
        """Say of each span which agent it is of: that of the nearest agent's span around it.

        The tools of the agent are those that its models could call. To hand off they call tools
        which are recorded by no name, so that an unknown name then proves nothing.
        """
        known: dict[str, AgentSpan | None] = {}
        for span in self._spans:
            agent = self._agent_of(span, known)
            if agent is None or agent is span or span.work == "task":
                continue  # a task is the run of an agent that it holds, not of one around it
            span.fields.agent = agent.fields.agent
            messages = span.fields.messages
            if messages is not None and agent.offered:
                is_open = agent.hands_off and messages.calls
                messages.offered = None if is_open else agent.offered

    def judge(self) -> None:
        """Decide the status of what the runner leaves without an error: tasks, agents and turns.

        It records what ended a run on the agent or on the turn that was current. A task failed if
        its last agent did, an agent if its last turn did. The last turn of an agent that failed,
        in which something failed, may have been the end of it or may have been gone on from.
        """
        for work, inner in (("agent", "turn"), ("task", "agent")):
            for span in self._spans:
                if span.work == work and span.verdict.status != ERROR:
                    last = self._last(span, inner)
                    if last is not None and last.verdict.status == ERROR:
                        span.verdict = Verdict(ERROR, _INNER)
        for span in self._spans:
            if span.work == "agent" and span.verdict.status == ERROR:
                last = self._last(span, "turn")
                if last is not None and last.verdict.status == OK and self._holds_error(last):
                    last.verdict = Verdict(UNSET)

    def links(self) -> Iterator[Link]:
        """Yield what caused what by the order of the loop."""
        handed: dict[str, list[Answer]] = {}
        followed = self._followed()
        for agent in self._spans:
            if agent.work != "agent":
                continue
            loop = Loop(handed.pop(agent.step_id, ()))
            for span in self._loop_of(agent):
                yield from loop.add(span)
                to = followed.get(span.step_id)
                if to is not None:
                    yield Link(to.step_id, span.step_id)
                    handed[to.step_id] = loop.unread

    def _loop_of(self, agent: AgentSpan) -> list[AgentSpan]:
        """Return the models, tools and handoffs that an agent's span or its turns hold, in time."""
        held = [
            span
            for outer in self._below[agent.step_id]
            for span in (self._below[outer.step_id] if outer.work == "turn" else (outer,))
        ]
        timed = [s for s in held if s.fields.kind in (LLM, TOOL) and s.start >= 0]
        return sorted(timed, key=lambda span: span.start)

    def _followed(self) -> dict[str, AgentSpan]:
        """Return the span of the agent that each handoff led to, by the handoff's id.

        One that follows two handoffs, of runs side by side, may be of either.
        """
        found: dict[str, AgentSpan] = {}
        for agent in self._spans:
            for span in self._loop_of(agent) if agent.work == "agent" else ():
                to = self._handed_to(span, agent)
                if to is not None:
                    found[span.step_id] = to
        times = Counter(to.step_id for to in found.values())
        return {handoff: to for handoff, to in found.items() if times[to.step_id] == 1}

    def _handed_to(self, handoff: AgentSpan, agent: AgentSpan) -> AgentSpan | None:
        """Return the span of the agent that a handoff is to: the first of its name behind it."""
        if handoff.work != "handoff" or handoff.to_agent is None or handoff.end < 0:
            return None
        beside = self._agents[agent.parent]
        first = bisect_left(beside, (handoff.end, 0), key=lambda span: when(span, 0))
        following = beside[first] if first < len(beside) else None
        is_it = following is not None and following.fields.agent == handoff.to_agent
        return following if is_it else None

    def _holds_error(self, span: AgentSpan) -> bool:
        return any(inner.verdict.status == ERROR for inner in self._below[span.step_id])

    def _last(self, span: AgentSpan, work: str) -> AgentSpan | None:
        return next((s for s in reversed(self._below[span.step_id]) if s.work == work), None)

    def _agent_of(self, span: AgentSpan, known: dict[str, AgentSpan | None]) -> AgentSpan | None:
        climbed: list[str] = []
        seen: set[str] = set()
        at: AgentSpan | None = span
        while at is not None and at.step_id not in known and at.step_id not in seen:
            if at.work == "agent":
                known[at.step_id] = at
                break
            seen.add(at.step_id)
            climbed.append(at.step_id)
            at = self._by_id.get(at.parent or "")
        found = known.get(at.step_id) if at is not None else None
        for below in climbed:
            known[below] = found
        return found

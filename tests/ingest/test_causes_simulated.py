"""Simulated multi-agent runs, of which the causes are known: every edge is found and no other.

Agents run side by side and as tools of each other, count their call ids anew or not, keep their
history or trim it; models fail and are tried again; spans are exported in any order.
"""

import json
from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from otlp_data import chat, edges, only, span, tool

MESSAGES = ("tool_call_id", "protocol")
FAILED: dict[str, Any] = {"status": {"code": 2}}


@dataclass
class Simulation:
    """A run in the making: a shared clock, spans, and the causes that they come of."""

    draw: st.DrawFn
    ids: str
    trims: bool
    clock: int = 0
    calls: int = 0
    spans: list[dict[str, Any]] = field(default_factory=list)
    truth: set[tuple[int, int]] = field(default_factory=set)

    def number(self) -> int:
        """Return the number of the next span; it is the order of the starts too."""
        self.clock += 1
        return self.clock

    def call_id(self, turn: int, place: int, in_agent: int) -> str:
        self.calls += 1
        return {
            "unique": f"call_{self.calls}",
            "agent": f"call_{in_agent}",
            "turn": f"call_{place}",
        }[self.ids]

    def agent(self, parent: int | None, depth: int) -> Any:
        """Run an agent; yields after every span, so that agents can take turns."""
        own = self.number()
        kind = self.draw(st.sampled_from(["AGENT", "CHAIN"])) if depth == 0 else "AGENT"
        self.spans.append(span(own, "agent", kind, parent=parent))
        history: list[str] = []
        results: list[int] = []
        asked = 0
        turns = self.draw(st.integers(1, 3))
        for turn in range(turns + 1):
            held = history[-len(results) :] if self.trims and results else list(history)
            if self.trims and not results:
                held = []
            for _ in range(self.draw(st.integers(0, 1))):
                attempt = self.number()
                self.spans.append(chat(attempt, reads=held, parent=own, **FAILED))
                self.truth |= {(attempt, result) for result in results}
                yield
            model = self.number()
            self.truth |= {(model, result) for result in results}
            count = self.draw(st.integers(0, 2)) if turn < turns else 0
            asks = []
            for place in range(count):
                query = json.dumps({"q": self.number()})
                asks.append((self.call_id(turn, place, asked), f"tool_{place}", query))
                asked += 1
            self.spans.append(chat(model, reads=held, asks=asks, says="so", parent=own))
            yield
            results = []
            for call_id, name, query in asks:
                row = self.number()
                has_id = self.draw(st.booleans()) if self.ids == "unique" else True
                made = tool(row, name, query, call_id=call_id if has_id else None, parent=own)
                self.spans.append(made)
                self.truth.add((row, model))
                results.append(row)
                history.append(call_id)
                yield
                if depth < 2 and self.draw(st.integers(0, 4)) == 0:
                    yield from self.agent(row, depth + 1)


@st.composite
def simulations(draw: st.DrawFn) -> Simulation:
    ids = draw(st.sampled_from(["unique", "agent", "turn"]))
    made = Simulation(draw, ids, draw(st.booleans()))
    made.spans.append(span(made.number(), "root", "CHAIN"))
    running = [made.agent(1, 0) for _ in range(draw(st.integers(1, 3)))]
    while running:
        turn = draw(st.sampled_from(running))
        if next(turn, "over") == "over":
            running.remove(turn)
    made.spans = draw(st.permutations(made.spans))
    return made


@given(simulations())
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_simulated_runs(made: Simulation) -> None:
    trace = only(*made.spans)
    found = {(effect, cause) for effect, cause, _, _ in edges(trace, *MESSAGES)}
    assert found == made.truth

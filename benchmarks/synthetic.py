"""Made-up agent runs for benchmarks: one seed, one corpus, whatever the machine or the day.

A run is an agent that takes turns. In a turn a model step reads some of the last results (links)
and asks for tools; a tool may fail, and a failed call may be tried again under a ``retry:<tool>``
step, so that tool-retry-failure finds about 25 matches in 1,000 steps. Now and then an agent fails
because an earlier one did, or a gate refuses, so that every one of the first nine presets matches
somewhere. The numbers have no meaning beyond being of the size that real traces show.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

EPOCH_US = 1_767_225_600_000_000  # 2026-01-01T00:00:00Z
TOOLS = (
    "search::query",
    "search::fetch_page",
    "files::read",
    "files::write",
    "db::select",
    "db::update",
    "mail::send",
    "calendar::list",
    "shell::run",
    "http::get",
    "gate:budget",
)
_ERRORS = (
    ("HTTPError", "503 Service Unavailable from upstream while calling the endpoint"),
    ("TimeoutError", "timeout: the call was given up after 30 s without an answer"),
    ("ValueError", "argument 'limit' must be a positive integer, not -1"),
    ("PermissionError", "the token lacks the scope that this operation needs"),
)
_FAILS = 0.16
_RETRIED = 0.75
_FAILS_AGAIN = 0.42
_READS_RESULT = 0.2
_AGENT_FAILS = 0.2


@dataclass(slots=True)
class Step:
    """One step; ``links`` and ``parent`` are positions of earlier steps in the run."""

    step_id: str
    kind: str
    name: str
    parent: int | None
    start_us: int
    end_us: int = 0
    links: list[int] = field(default_factory=list)
    error: tuple[str, str] | None = None
    tokens: tuple[int, int] | None = None
    cost: str | None = None
    call_id: str | None = None
    arguments: str | None = None
    asked: list[int] = field(default_factory=list)
    """Of a model step: the tool steps that it asked for."""


@dataclass(slots=True)
class Run:
    """One trace."""

    trace_id: str
    session_id: str
    steps: list[Step]


def runs(count: int, size: int, seed: int) -> Iterator[Run]:
    """Yield ``count`` runs of exactly ``size`` steps each."""
    for index in range(count):
        yield _Maker(random.Random(f"{seed}/{index}"), size).make()


class _Maker:
    def __init__(self, rng: random.Random, size: int) -> None:
        self.rng = rng
        self.size = size
        self.steps: list[Step] = []
        self.clock = EPOCH_US + rng.randrange(10**13)
        self.failed_agents: dict[str, int] = {}

    def make(self) -> Run:
        root = self.open("AGENT", "agent", None)
        results: list[int] = []
        while not self.is_full():
            results = self.turn(root, results)
        self.close(root)
        for step in self.steps:  # those that the size cut off in the middle
            step.end_us = step.end_us or self.clock
        return Run(self.hex(128), f"session-{self.rng.randrange(10**6):06d}", self.steps)

    def turn(self, root: int | None, results: list[int]) -> list[int]:
        kind = "AGENT" if self.rng.random() < 0.15 else "CHAIN"
        turn = self.open(kind, self.rng.choice(("plan", "act", "review", "answer")), root)
        model = self.open("LLM", "model", turn)
        if model is not None:
            step = self.steps[model]
            step.links = [r for r in results if self.rng.random() < _READS_RESULT]
            prompt, completion = self.rng.randrange(200, 9000), self.rng.randrange(5, 900)
            step.tokens = (prompt, completion)
            step.cost = f"0.{prompt * 3 + completion * 15:08d}"
            self.close(model, 400_000)
        done: list[int] = []
        for _ in range(self.rng.choice((1, 1, 2, 3, 4))):
            done += self.call(turn, model)
        self.close(turn)
        if turn is not None and kind == "AGENT" and self.rng.random() < _AGENT_FAILS:
            self.fail_agent(turn)
        return done

    def fail_agent(self, turn: int) -> None:
        """Make an agent fail, and the failure of the last one of its name the reason."""
        step = self.steps[turn]
        step.error = self.rng.choice(_ERRORS)
        before = self.failed_agents.get(step.name)
        step.links = [] if before is None else [before]
        self.failed_agents[step.name] = turn

    def call(self, turn: int | None, model: int | None) -> list[int]:
        """Call a tool, and once more if it fails and is tried again."""
        name = self.rng.choice(TOOLS)
        arguments = f'{{"query": "item {self.rng.randrange(40)}", "limit": 10}}'
        tool = self.tool(name, arguments, turn, model, _FAILS)
        if tool is None:
            return []
        if self.steps[tool].error is None or self.rng.random() >= _RETRIED:
            return [tool]
        retry = self.open("CHAIN", f"retry:{name}", turn)
        if retry is None:
            return [tool]
        self.steps[retry].links = [tool]
        again = self.tool(name, arguments, retry, model, _FAILS_AGAIN)
        self.close(retry)
        return [tool] if again is None else [again]

    def tool(
        self, name: str, arguments: str, parent: int | None, model: int | None, fails: float
    ) -> int | None:
        tool = self.open("TOOL", name, parent)
        if tool is None:
            return None
        step = self.steps[tool]
        step.call_id, step.arguments = f"call_{self.hex(96)}", arguments
        if model is not None:
            self.steps[model].asked.append(tool)
            if self.rng.random() < 0.3:
                step.links = [model]
        if self.rng.random() < fails:
            step.error = self.rng.choice(_ERRORS)
        self.close(tool, 90_000)
        return tool

    def is_full(self) -> bool:
        return len(self.steps) >= self.size

    def open(self, kind: str, name: str, parent: int | None) -> int | None:
        """Start a step; None once the run has its size."""
        if self.is_full():
            return None
        self.clock += self.rng.randrange(20, 2_000)
        self.steps.append(Step(self.hex(64), kind, name, parent, self.clock))
        return len(self.steps) - 1

    def close(self, at: int | None, mean_us: int = 1_000) -> None:
        self.clock += 1 + int(self.rng.expovariate(1 / mean_us))
        if at is not None:
            self.steps[at].end_us = self.clock

    def hex(self, bits: int) -> str:
        return f"{self.rng.getrandbits(bits):0{bits // 4}x}"

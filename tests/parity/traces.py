"""Random tiny traces: joins, cycles, parallel edges, missing times, unknown fields, long chains."""

from random import Random

from tracegraph.model.codes import KIND_CODE, SIGNALS, STATUS_CODE
from tracegraph.model.columns import Columns
from tracegraph.model.draft import Draft
from tracegraph.model.seal import seal

KINDS = ("TOOL", "TOOL", "LLM", "AGENT", "CHAIN")
NAMES = ("a", "b", "ab", "retry:a", None)
ORIGINS = ("span_link", "tool_call_id", "data_flow", "order")
LONG = 38
"""More hops than the database walks when nobody tells it to."""


def random_columns(random: Random, count: int, *, cycles: bool, long_chain: bool) -> Columns:
    """Make some traces; the first is a long chain where one is asked for."""
    draft = Draft()
    for number in range(count):
        draft.begin(
            f"t{number}",
            source=random.choice(("otlp", "artifact")),
            file="f",
            agent=random.choice(("p", "q", None)),
            session_id=random.choice(("s", None)),
            run_id=random.choice(("a", None)),
            fidelity=random.randrange(3),
        )
        if long_chain and number == 0:
            _chain(draft, random)
        else:
            _trace(draft, random, cyclic=cycles and random.random() < 0.3)
    return seal(draft)


def _chain(draft: Draft, random: Random) -> None:
    """A chain longer than the database's default depth, with a short cut now and then."""
    first = 0
    for number in range(LONG):
        kind = random.choice(("TOOL", "LLM")) if number in (0, 1, LONG - 2, LONG - 1) else "CHAIN"
        row = draft.step(
            f"s{number}", kind=KIND_CODE[kind], name=random.choice(("a", "b")), start=number
        )
        first = first or row
        if number:
            draft.link(row, row - 1, random.choice(("span_parent", "span_link")))
        if number > 3 and random.random() < 0.05:
            draft.link(row, row - 2, "data_flow")


def _trace(draft: Draft, random: Random, *, cyclic: bool) -> None:
    size = random.randint(1, 7)
    timed = random.random() < 0.8
    first = len(draft.steps.step_id)
    for number in range(size):
        _step(draft, random, number, timed=timed)
    for effect in range(size):
        if effect and random.random() < 0.7:
            draft.link(first + effect, first + random.randrange(effect), "span_parent")
        for _ in range(random.choice((0, 0, 0, 1, 1, 2))):
            cause = random.randrange(size if cyclic else effect + 1)
            if cause != effect:
                origin = random.choice(ORIGINS)
                draft.link(first + effect, first + cause, origin)
                if random.random() < 0.2:  # a parallel edge
                    draft.link(first + effect, first + cause, random.choice(ORIGINS))


def _step(draft: Draft, random: Random, number: int, *, timed: bool) -> None:
    start = random.randrange(9) if timed and random.random() < 0.85 else -1
    end = max(start, 0) + random.randrange(4) if timed and random.random() < 0.8 else -1
    if timed and random.random() < 0.05:
        end = random.randrange(3)  # perhaps before the start
    kind = random.choice(KINDS)
    status = random.choice(tuple(STATUS_CODE))
    failed = status == "error"
    draft.step(
        f"s{random.randrange(10)}{number}",
        kind=KIND_CODE[kind],
        name=random.choice(NAMES),
        status=STATUS_CODE[status],
        status_source=random.choice(("default", None)),
        agent=random.choice(("p", "q", None)),
        model=random.choice(("m", "a", None)),
        start=start,
        end=end,
        error_type=random.choice(("Timeout", "a", None)) if failed else None,
        error_message=random.choice(("it timed out", "bad\nthing", None)) if failed else None,
        tokens_prompt=random.choice((-1, 1, 2, 3)),
        tokens_total=random.choice((-1, 0, 4)),
        cost=random.choice((None, "0.5", "2")),
        tool_call_id=random.choice(("c1", "c2", None)),
        args=random.choice(("x", "y", None)),
        result=random.choice(("x", "z", None)),
        docs=random.choice((-1, 0, 1)),
        signals=random.randrange(1 << len(SIGNALS)) if random.random() < 0.3 else 0,
        wrapper=kind in ("AGENT", "CHAIN") and random.random() < 0.4,
        orphan=random.random() < 0.1,
    )

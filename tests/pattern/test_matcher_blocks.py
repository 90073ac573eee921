"""How much is worked on at once decides about memory, never about the answer."""

import pytest

from pattern.building import find, traces
from tracegraph.pattern import reach, spans

COLUMNS = traces(
    "\n\n".join(
        f"""
r{n} AGENT @0-40
a{n} TOOL x error @1-2 args=1 / r{n}
b{n} LLM @3-4 / r{n} <- a{n}
c{n} TOOL x @5-6 args=1 / r{n} <- b{n}
d{n} TOOL @7-? / r{n} <- b{n}
e{n} TOOL y error @9-10 / r{n} <- c{n} d{n}
f{n} LLM @11-12 / e{n} <- e{n}
g{n} TOOL x @13-14 / r{n} <- f{n}
"""
        for n in range(5)
    )
)

PATTERNS = (
    "TOOL -> LLM",
    "TOOL ->> TOOL",
    "TOOL ->{2,3} TOOL",
    "AGENT / TOOL",
    "AGENT // LLM",
    "a: TOOL ~>> TOOL where name == $a.name",
    "a: TOOL ~> [no LLM] TOOL",
    "a: TOOL ~>> [at most 1 TOOL where name == $a.name] TOOL",
    "a: TOOL also TOOL where name == $a.name",
    "a: TOOL unless $a ~>> TOOL where name == $a.name",
    "a: TOOL unless $a ->> LLM",
    "a: TOOL unless LLM ~>> $a",
    "a: AGENT unless $a // LLM // TOOL",
    "a: AGENT -> TOOL -> xs: TOOL {1,} same name unless $a // $xs",
    "TOOL ->> TOOL ->> TOOL",
)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_small_blocks_change_no_answer(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = find(pattern, COLUMNS)
    assert len(expected) % 5 == 0
    monkeypatch.setattr(spans, "BLOCK", 2)
    monkeypatch.setattr(reach, "_WORDS", 3)
    monkeypatch.setattr(reach, "_PAIRS", 1)
    assert find(pattern, COLUMNS) == expected


def test_some_of_these_patterns_match() -> None:
    assert sum(bool(find(pattern, COLUMNS)) for pattern in PATTERNS) >= 11


def test_one_long_trace() -> None:
    lines = ["s0 TOOL x @0-0"]
    for n in range(1, 3000):
        kind = "LLM" if n % 2 else f"TOOL {'x' if n % 3 else 'y'}"
        lines.append(f"s{n} {kind} @{n}-{n} <- s{n - 1}:order")
    columns = traces("\n".join(lines))
    assert find("t: TOOL unless $t ->> LLM", columns) == []
    assert find("t: LLM unless $t ->> LLM", columns) == ["s2999"]
    assert find("t: TOOL unless $t ->> TOOL where name == $t.name", columns) == ["s2994", "s2998"]
    assert find("t: TOOL unless $t // TOOL where name == $t.name", columns) == ["s2994", "s2998"]
    assert find("t: TOOL unless TOOL where name == $t.name // $t", columns) == ["s0", "s6"]
    assert find("t: LLM unless LLM // $t", columns) == ["s1"]
    assert len(find("t: TOOL ->{2} TOOL where name == $t.name", columns)) == 501

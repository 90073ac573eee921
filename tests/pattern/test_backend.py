from dataclasses import replace

import pytest

from tracegraph.errors import UnsupportedPatternError
from tracegraph.pattern.backend import Choice, Request, choose, explain
from tracegraph.pattern.facts import CorpusFacts, facts_of
from tracegraph.pattern.load import load_adhoc
from tracegraph.pattern.plan import plan


def code(text: str) -> int:
    return 7 if text == "a" else -2


FACTS = CorpusFacts(
    graph_built=True,
    total_steps=1000,
    largest_trace=40,
    largest_scope=10,
    cyclic=False,
    code=code,
)


def chosen(text: str, requested: Request = "auto", facts: CorpusFacts = FACTS) -> Choice:
    return choose(plan(load_adhoc(text)), requested, facts)


def test_auto_takes_cypher_where_it_is_exact() -> None:
    choice = chosen("a: TOOL -> b: LLM where name == $a.name")
    assert choice.backend == "cypher"
    assert choice.compiled is not None


def test_auto_without_a_graph_takes_the_columns() -> None:
    choice = chosen("a: TOOL", facts=replace(FACTS, graph_built=False))
    assert (choice.backend, choice.compiled) == ("matcher", None)
    assert "no graph" in choice.reason


def test_asked_for_cypher_needs_no_graph_yet() -> None:
    facts = replace(FACTS, graph_built=False)
    assert chosen("a: TOOL", "cypher", facts).backend == "cypher"
    assert chosen("a: TOOL", "ladybug", facts).backend == "cypher"


def test_asked_for_matcher() -> None:
    assert chosen("a: TOOL", "matcher").backend == "matcher"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: TOOL ->> [no LLM] b: TOOL", r"\[no \.\.\.\] on a causal walk"),
        ("a: TOOL ->{5,} b: TOOL", r"at least 5 edges \(at most 4 compile\)"),
        ("a: TOOL ->{5,9} b: TOOL", "at least 5 edges"),
        ("a: TOOL ->{5} b: TOOL", "5 edges"),
        ("a: TOOL -> b: TOOL -> $b", "to itself"),
        ("xs: TOOL {2,} period 2..3 same name", "period"),
        ("a: LLM -> xs: TOOL {2,} same name", "run beside"),
        ("xs: TOOL {2,} same name unless $xs ~>> LLM", "'unless' of a run"),
        ("a: TOOL unless $a -> LLM {2,} same name", "run in 'unless'"),
        ('a: TOOL where attr["x"] == 1', "not a column of the graph"),
        ('a: TOOL where input contains "x"', "content"),
        ('a: TOOL where similar(name, "x") > 0.5', "similar"),
        ("pattern p v1\n  scope session\nmatch\n  a: TOOL", "session"),
    ],
)
def test_what_cypher_refuses(text: str, reason: str) -> None:
    with pytest.raises(UnsupportedPatternError, match=reason):
        chosen(text, "cypher")
    choice = chosen(text)
    assert choice.backend == "matcher"
    assert choice.reason.startswith("Cypher is not exact here: ")


def test_walks_of_two_edges_and_more_on_cyclic_traces() -> None:
    cyclic = replace(FACTS, cyclic=True)
    for text in ("a: TOOL ->{2,} b: TOOL", "a: TOOL ->{2,4} b: TOOL"):
        assert chosen(text).backend == "cypher"
        with pytest.raises(UnsupportedPatternError, match="cycle"):
            chosen(text, "cypher", cyclic)
    for text in ("a: TOOL ->> b: TOOL", "a: TOOL ->{2} b: TOOL"):
        assert chosen(text, facts=cyclic).backend == "cypher"


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("a: TOOL ->> b: TOOL", replace(FACTS, total_steps=100_000)),
        ("a: TOOL ->{2,30} b: TOOL", replace(FACTS, total_steps=100_000)),
        ("a: TOOL unless $a ->> LLM", replace(FACTS, total_steps=100_000)),
        ("a: TOOL ~> b: TOOL", replace(FACTS, total_steps=10_000, largest_scope=10_000)),
        ("a: TOOL ~>> b: TOOL", replace(FACTS, total_steps=10_000, largest_trace=10_000)),
        ("a: TOOL // b: TOOL", replace(FACTS, total_steps=10_000, largest_trace=10_000)),
        ("a: TOOL ~>> [no LLM] b: TOOL", replace(FACTS, largest_trace=500)),
        ("a: TOOL unless $a ~>> TOOL ~>> TOOL", replace(FACTS, largest_trace=500)),
        (
            "a: TOOL unless TOOL where name == $a.name",
            replace(FACTS, total_steps=10_000, largest_trace=10_000),
        ),
        ("a: TOOL where name matches /x|y/", replace(FACTS, total_steps=1_000_000)),
    ],
)
def test_auto_avoids_what_is_slow_and_cypher_may_be_asked_for(
    text: str, facts: CorpusFacts
) -> None:
    slow = chosen(text, facts=facts)
    assert slow.backend == "matcher"
    assert slow.reason.startswith("Cypher is slow here: ")
    assert chosen(text, "cypher", facts).backend == "cypher"
    assert chosen(text).backend == "cypher"


def test_scopes_are_measured_apart_from_traces() -> None:
    facts = replace(FACTS, total_steps=10_000, largest_trace=10_000)
    assert chosen("a: TOOL ~> b: TOOL", facts=facts).backend == "cypher"


def test_explanation_of_cypher() -> None:
    text = (
        'a: TOOL where name == "a" ->> b: TOOL alternatively a: LLM '
        "within 5s return $a.name as tool"
    )
    loaded = plan(load_adhoc(text))
    facts = replace(FACTS, largest_trace=77)
    shown = explain(choose(loaded, "auto", facts), loaded)
    assert shown.startswith("backend: cypher\nreason: ")
    assert "first: CALL var_length_extend_max_depth=77" in shown
    assert "SHORTEST 1..77" in shown
    assert "$p1 = 7" in shown
    for part in ("alternative 2", "alternatives merged", "within", "returned values: tool"):
        assert part in shown


def test_explanation_of_a_fallback() -> None:
    loaded = plan(load_adhoc("xs: TOOL {2,} period 2..3 same name"))
    shown = explain(choose(loaded, "auto", FACTS), loaded)
    assert "backend: matcher\nreason: Cypher is not exact here: a run with a period\n" in shown
    assert "MATCH" not in shown


def test_explanation_of_rows() -> None:
    text = "pattern p v1\n needs times\nmatch\n a: TOOL within 60s having count >= 3 by name"
    loaded = plan(load_adhoc(text))
    shown = explain(choose(loaded, "auto", FACTS), loaded)
    assert "rows of having in sliding windows, count >= 3" in shown
    assert "traces that lack times" in shown


def test_facts_of_nothing() -> None:
    facts = facts_of([], code, graph_built=False)
    assert (facts.total_steps, facts.largest_trace, facts.largest_scope) == (0, 0, 0)
    assert chosen("a: TOOL ->> b: TOOL", "cypher", facts).backend == "cypher"

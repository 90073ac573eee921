"""Runs: maximal blocks of neighbours that agree, with or without a period."""

import numpy as np

from pattern.building import answer, find, traces
from tracegraph.model.codes import KIND_CODE
from tracegraph.model.draft import Draft
from tracegraph.model.seal import seal


def line(names: str, kind: str = "TOOL") -> str:
    """Write steps ``s0 ..`` with one-letter names, ``?`` for unknown."""
    return "\n".join(
        f"s{place} {kind} {'' if name == '?' else name}" for place, name in enumerate(names)
    )


def run(names: str, pattern: str) -> list[str]:
    """Return runs by their places, e.g. ``012`` and ``012?``."""
    found = find(pattern, traces(line(names)))
    return [
        text.replace("[", "").replace("]", "").replace("s", "").replace(" ", "") for text in found
    ]


def test_maximal_blocks() -> None:
    assert run("aaabbaa", "xs: TOOL {2,} same name") == ["012", "34", "56"]
    assert run("aaabbaa", "xs: TOOL {3,} same name") == ["012"]
    assert run("ab", "xs: TOOL {1,} same name") == ["0", "1"]


def test_another_step_of_the_kinds_breaks_a_run() -> None:
    columns = traces("a TOOL x\nb LLM\nc TOOL x\nd RETRIEVER\ne TOOL x")
    assert find("xs: TOOL {2,} same name", columns) == ["[a c e]"]
    pattern = "xs: TOOL | RETRIEVER {2,} same kind where kind == TOOL"
    assert find(pattern, columns) == ["[a c]"]


def test_a_failed_condition_breaks_a_run() -> None:
    columns = traces("a TOOL x\nb TOOL x error\nc TOOL x\nd TOOL x")
    assert find("xs: TOOL {2,} same name where status == ok", columns) == ["[c d]"]
    assert find('xs: TOOL "y" {1,} same name', columns) == []


def test_an_unknown_value_makes_a_run_possible() -> None:
    assert run("a?a", "xs: TOOL {3,} same name") == ["012?"]
    assert run("a?b", "xs: TOOL {2,} same name") == ["01?", "12?"]
    assert run("a?b", "xs: TOOL {3,} same name") == []
    assert run("????", "xs: TOOL {3,} same name") == ["0123?"]


def test_a_possible_run_holds_no_confirmed_one() -> None:
    assert run("aaa?", "xs: TOOL {3,} same name") == ["012"]
    assert run("aa?a", "xs: TOOL {3,} same name") == ["0123?"]
    assert run("aaa?b?", "xs: TOOL {2,} same name") == ["012", "345?"]


def test_an_unknown_condition_makes_a_run_possible() -> None:
    columns = traces("a TOOL x docs=1\nb TOOL x\nc TOOL x docs=1")
    assert find("xs: TOOL {3,} same name where docs == 1", columns) == ["[a b c]?"]
    assert find("xs: TOOL {1,} same name where docs == 1", columns) == ["[a]", "[c]"]


def test_groups() -> None:
    columns = traces("""
p AGENT
q AGENT
a TOOL x agent=m / p
b TOOL x / q
c TOOL x agent=m / p
d TOOL x / q
""")
    assert find("xs: TOOL {2,} same name", columns) == ["[a b c d]"]
    assert find("xs: TOOL {2,} same name per scope", columns) == ["[a c]", "[b d]"]
    assert find("xs: TOOL {2,} same name per parent", columns) == ["[a c]", "[b d]"]
    assert find("xs: TOOL {2,} same name per agent", columns) == ["[a c]", "[b d]"]


def test_several_fields() -> None:
    columns = traces("a TOOL x args=1\nb TOOL x args=1\nc TOOL x args=2\nd TOOL x args=2")
    assert find("xs: TOOL {2,} same name, args", columns) == ["[a b]", "[c d]"]


def test_values_of_a_run() -> None:
    columns = traces("a TOOL x args=1\nb TOOL x args=2\nc TOOL y")
    (match,) = answer(
        """xs: TOOL {2,} same name
        return $xs.count as n, $xs.name as name, $xs.first.args as f, $xs.last.args as l""",
        columns,
    )
    assert match.values == {"n": 2, "name": "x", "f": "1", "l": "2"}
    assert match.evidence == "heuristic"


def test_edges_leave_from_the_last_member_and_enter_at_the_first() -> None:
    columns = traces("m LLM\na TOOL x <- m\nb TOOL x <- a\nn LLM <- b\no LLM <- a")
    assert find("LLM -> xs: TOOL {2,} same name -> LLM", columns) == ["m [a b] n"]


def test_positions_beside_a_run_are_none_of_its_members() -> None:
    columns = traces("a TOOL x\nb TOOL x\nc TOOL y")
    pattern = "xs: TOOL {2,} same name also TOOL where name != $xs.name"
    assert find(pattern, columns) == ["[a b] c"]
    pattern = "xs: TOOL {2,} same name also TOOL where status == $xs.first.status"
    assert find(pattern, columns) == ["[a b] c"]


def test_a_run_whose_condition_names_an_earlier_step() -> None:
    columns = traces("""
p AGENT x agent=m
q AGENT y agent=n
a TOOL agent=m status_source=k <- p q
b TOOL agent=m status_source=k
c TOOL agent=n status_source=k
""")
    pattern = "p: AGENT -> xs: TOOL {1,} same status_source where agent == $p.agent"
    assert find(pattern, columns) == ["p [a b]"]


def test_two_runs_of_one_branch_share_no_step() -> None:
    columns = traces("a TOOL x\nb TOOL x\nc TOOL y\nd TOOL y")
    pattern = (
        "xs: TOOL {2,} same name also ys: TOOL {2,} same name where status == $xs.first.status"
    )
    assert find(pattern, columns) == ["[a b] [c d]", "[c d] [a b]"]


def test_periods() -> None:
    pattern = "xs: TOOL {3,} period 2..3 same name"
    assert run("ababab", pattern) == ["012345"]
    assert run("abcabcabca", pattern) == ["0123456789"]
    assert run("xabababy", pattern) == ["123456"]
    assert run("ababa", pattern) == []
    assert run("aaaaaa", pattern) == []  # its smallest period is 1
    assert run("aaaaaa", "xs: TOOL {3,} period 1..3 same name") == ["012345"]
    assert run("abcdabcdabcd", pattern) == []


def test_possible_periods() -> None:
    pattern = "xs: TOOL {3,} period 2..3 same name"
    assert run("ab?bab", pattern) == ["012345?"]
    assert run("ab?bcb", pattern) == []
    assert run("abababa?", pattern) == ["0123456"]


def test_five_thousand_siblings_are_one_run() -> None:
    draft = Draft()
    draft.begin("t", source="test", file="f")
    root = draft.step("r", kind=KIND_CODE["AGENT"])
    for number in range(5000):
        tick = draft.step(f"s{number}", kind=KIND_CODE["TOOL"], name="tick", status=1)
        draft.link(tick, root, "span_parent")
    matches = answer("xs: TOOL {3,} same name return $xs.count as count", seal(draft))
    assert [match.values for match in matches] == [{"count": 5000}]
    assert len(matches[0].steps) == 5000


def test_runs_of_unknown_names_take_linear_room() -> None:
    draft = Draft()
    draft.begin("t", source="test", file="f")
    for number in range(30_000):
        name = str(number) if number % 100 == 0 else None
        draft.step(f"s{number}", kind=KIND_CODE["TOOL"], name=name, status=1)
    matches = answer("xs: TOOL {3,} same name return $xs.count as count", seal(draft))
    assert len(matches) == 300
    assert int(np.sum([match.values["count"] for match in matches])) < 2 * 30_000

"""Predicates over what is known and what is not."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest

from pattern.building import answer, find, traces
from tracegraph.errors import UnsupportedPatternError

MIXED = traces(
    """
a TOOL search error @1-3 agent=x tokens_prompt=10 cost=0.10 docs=0 args=d1 em
b TOOL fetch ok args=d1 signals=tool_error,truncated
c LLM unset tokens_prompt=20 model=gpt
d LLM gpt:x ok cost=2
""".replace(" em\n", " error_message=timed\n")
)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ('name == "search"', ["a", "c?"]),
        ('name != "search"', ["b", "c?", "d"]),
        ('not name == "search"', ["b", "c?", "d"]),
        ("name is known", ["a", "b", "d"]),
        ("name is unknown", ["c"]),
        ('name in ["search", "fetch"]', ["a", "b", "c?"]),
        ('name like "*a*"', ["a", "c?"]),
        ('name like "?etch"', ["b", "c?"]),
        ("name matches /^SE/i", ["a", "c?"]),
        ('name contains "etc"', ["b", "c?"]),
        ("status == error", ["a"]),
        ("status != error", ["b", "c", "d"]),
        ("status in [ok, unset]", ["b", "c", "d"]),
        ("kind == LLM", ["c", "d"]),
        ('signals contains "tool_error"', ["b"]),
        ('not signals contains "truncated"', ["a", "c", "d"]),
        ("tokens.prompt > 10", ["b?", "c", "d?"]),
        ("tokens.prompt >= 10 and tokens.prompt < 20", ["a", "b?", "d?"]),
        ("cost > 1", ["b?", "c?", "d"]),
        ("cost == 0.1", ["a", "b?", "c?"]),
        ("docs == 0", ["a", "b?", "c?", "d?"]),
        ("duration >= 2s", ["a", "b?", "c?", "d?"]),
        ('name == "search" or status == unset', ["a", "c"]),
        ('name == "search" and status == unset', ["c?"]),
        ("children == 0 and depth == 0", ["a", "b", "c", "d"]),
        ("lossy == false", ["a", "b", "c", "d"]),
        ("seq < 2", ["a", "b"]),
        ('id == "c"', ["c"]),
        ('id like "?"', ["a", "b", "c", "d"]),
        ('trace.source == "test"', ["a", "b", "c", "d"]),
        ('trace.session_id == "s"', ["a?", "b?", "c?", "d?"]),
        ('trace.fidelity == "full"', ["a", "b", "c", "d"]),
        ('error.message contains "time"', ["a", "b?", "c?", "d?"]),
    ],
)
def test_conditions(condition: str, expected: list[str]) -> None:
    assert find(f"x: ANY where {condition}", MIXED) == expected


def test_a_name_glob_on_an_unknown_name_is_possible() -> None:
    assert find('LLM "gpt:*"', MIXED) == ["c?", "d"]


def test_a_glob_spans_lines_and_minds_case() -> None:
    columns = traces("a TOOL A\nb TOOL x", content=True)
    assert find('TOOL "a"', columns) == []
    columns.vocabulary = [text.replace("x", "x\ny") for text in columns.vocabulary]
    assert find('TOOL "x*y"', columns) == ["b"]


def test_back_references() -> None:
    assert find("x: TOOL ~>> TOOL where args == $x.args", MIXED) == ["a b?", "b a?"]
    columns = traces("a LLM tokens_prompt=10\nb LLM tokens_prompt=30 <- a\nc LLM <- b")
    pattern = "x: LLM -> LLM where tokens.prompt >= 3 * $x.tokens.prompt"
    assert find(pattern, columns) == ["a b", "b c?"]
    assert find("x: LLM -> LLM where tokens.prompt > 3 * $x.tokens.prompt", columns) == ["b c?"]


def test_a_depth_under_a_missing_parent_is_unknown() -> None:
    columns = traces("r AGENT orphan=yes\na TOOL / r\n\nr AGENT\na TOOL / r")
    assert find("TOOL where depth == 1", columns) == ["a?", "a"]


def test_positions_hold_different_steps() -> None:
    columns = traces("p CHAIN\na TOOL <- p\nb TOOL <- p")
    assert find("p: CHAIN -> TOOL also $p -> TOOL", columns) == ["p a b", "p b a"]


def test_alternatives_unite_and_the_better_certainty_wins() -> None:
    columns = traces("a TOOL\nb TOOL x")
    both = 'TOOL "x" alternatively TOOL'
    assert find(both, columns) == ["a", "b"]
    assert find('TOOL "x" alternatively LLM', columns) == ["a?", "b"]


def test_positions_that_no_edge_joins_share_a_trace() -> None:
    columns = traces("a TOOL x\nb TOOL x\n\nc TOOL x\nd TOOL")
    assert find("a: TOOL also TOOL where name == $a.name", columns) == [
        "a b",
        "b a",
        "c d?",
        "d c?",
    ]


def test_content_is_unknown_where_it_was_not_kept() -> None:
    assert find('x: LLM where output contains "x"', MIXED) == ["c?", "d?"]


def test_kept_content() -> None:
    columns = traces(
        'a LLM output=hello attributes={"n":3,"ok":true,"s":"x"}\nb LLM attributes={"n":"3"}',
        content=True,
    )
    assert find('LLM where output contains "ell"', columns) == ["a", "b?"]
    assert find('LLM where attr["n"] == 3', columns) == ["a", "b?"]
    assert find('LLM where attr["ok"] == true', columns) == ["a", "b?"]
    assert find('LLM where attr["s"] like "x*"', columns) == ["a", "b?"]
    assert find('LLM where attr["s"] is unknown', columns) == ["b"]
    assert find('x: LLM ~>> LLM where attr["n"] == $x.attr["n"]', columns) == ["a b?"]
    matches = answer('x: LLM where attr["n"] == 3 return $x.attr["n"] as n', columns)
    assert [match.values for match in matches] == [{"n": 3}, {"n": "3"}]


def test_similar_needs_an_embedder() -> None:
    with pytest.raises(UnsupportedPatternError, match="embedder"):
        find('LLM where similar(name, "gpt") > 0.5', MIXED)


def test_similar_compares_cosines() -> None:
    def letters(texts: Sequence[str]) -> npt.NDArray[np.float32]:
        return np.array([[t.count("g"), t.count("s")] for t in texts], dtype=np.float32)

    assert find('x: ANY where similar(name, "gg") > 0.9', MIXED, letters) == ["c?", "d"]

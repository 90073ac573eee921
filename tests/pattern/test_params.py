import pytest

from tracegraph.errors import PatternError
from tracegraph.pattern.ast import Duration, Number, Param, Pattern, Text, Value, Word
from tracegraph.pattern.load import bind, load_adhoc, load_text
from tracegraph.pattern.params import Given
from tracegraph.pattern.parser import parse_adhoc
from tracegraph.pattern.walk import nodes


def values(pattern: Pattern) -> list[Value]:
    return [node for node in nodes(pattern.body) if isinstance(node, Value)]


@pytest.mark.parametrize(
    ("condition", "given", "value"),
    [
        ("name == @p", "7", Text("7")),
        ("@p < docs", "7", Number(7)),
        ("docs > @p", "10k", Number(10_000)),
        ("docs > @p", 7, Number(7)),
        ("cost > @p", 0.5, Number(0.5)),
        ("duration > @p", "1.5s", Duration(1_500_000_000)),
        ("status == @p", "error", Word("error")),
        ("kind == @p", "LLM", Word("LLM")),
        ("lossy == @p", "true", Word("true")),
        ("lossy == @p", True, Word("true")),
        ("name like @p", "x*", Text("x*")),
        ("signals contains @p", "truncated", Text("truncated")),
        ("docs in [@p]", "3", Number(3)),
        ("docs > 3 * $a.docs and docs > @p", "3", Number(3)),
        ('attr["k"] == @p', "504", Number(504)),
        ('attr["k"] == @p', "x", Text("x")),
    ],
)
def test_text_is_read_as_what_it_is_compared_with(
    condition: str, given: str | float, value: Value
) -> None:
    pattern = load_adhoc(f"a: TOOL -> LLM where {condition}", {"p": given})
    assert value in values(pattern)
    assert not any(isinstance(node, Param) for node in nodes(pattern))


def test_default_gives_type_and_value() -> None:
    text = 'pattern p v1 param n = "a" match TOOL where attr["k"] == @n and name != @n'
    assert values(load_adhoc(text)) == [Text("a"), Text("a")]
    assert values(load_adhoc(text, {"n": "504"})) == [Text("504"), Text("504")]
    assert load_adhoc(text).params == ()


def test_shipped_form_is_bound_without_places() -> None:
    pattern = parse_adhoc("a: TOOL where docs > @n").pattern
    assert values(bind(pattern, {"n": "3"})) == [Number(3)]
    with pytest.raises(PatternError, match=r"^adhoc: '@n' has no value"):
        bind(pattern)


@pytest.mark.parametrize(
    ("text", "given", "line", "column", "message"),
    [
        ("TOOL where name == @p", {}, 1, 20, "'@p' has no value: give one with --param p="),
        ("TOOL where name == @p", {"q": "1", "p": "1"}, 0, 0, "no param '@q' in pattern 'adhoc'"),
        ("TOOL where name == @mutators", {"mutator": "1"}, 0, 0, "did you mean 'mutators'?"),
        ("TOOL", {"p": "1"}, 0, 0, "it has none"),
        ("TOOL where docs > @p", {"p": "x"}, 1, 19, "param '@p': 'x' is not a number"),
        ("TOOL where duration > @p", {"p": "3"}, 1, 23, "'3' is not a duration such as"),
        ("TOOL where status == @p", {"p": "eror"}, 1, 22, "not a status; did you mean 'error'?"),
        ("TOOL where status == @p", {"p": "LLM"}, 1, 22, "'LLM' is not a status"),
        ("TOOL where kind == @p", {"p": "ANY"}, 1, 20, "'ANY' is not a kind"),
        ("TOOL where name == @p", {"p": 7}, 1, 20, "a text cannot be compared with a number"),
        ("TOOL where duration > @p", {"p": 7}, 1, 23, "write a unit, such as 7s"),
        ("TOOL where signals contains @p", {"p": "x"}, 1, 29, "unknown signal 'x'"),
        ("pattern a v1\nparam p = 1\nmatch TOOL where docs > @p", {"p": "x"}, 2, 1, "not a number"),
    ],
)
def test_values_that_do_not_fit(
    text: str, given: Given, line: int, column: int, message: str
) -> None:
    with pytest.raises(PatternError) as caught:
        load_adhoc(text, given)
    assert message in caught.value.message
    assert (caught.value.line, caught.value.column) == (line, column)


def test_param_of_one_pattern_of_a_file() -> None:
    text = "pattern a v1 match TOOL where name == @p\npattern b v1 match TOOL\n"
    first, second = load_text(text, "x.tgp", {"p": "z"})
    assert values(first) == [Text("z")]
    assert values(second) == []
    with pytest.raises(PatternError, match=r"^x\.tgp: .*no param '@q'"):
        load_text(text, "x.tgp", {"p": "z", "q": "z"})

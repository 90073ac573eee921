import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pattern.strategies import WIDE, patterns
from shared_data import fixture
from tracegraph.errors import PatternError
from tracegraph.pattern.ast import (
    And,
    Attr,
    AttrOf,
    Between,
    Bind,
    Compare,
    Duration,
    Edge,
    Expr,
    Field,
    Having,
    In,
    Item,
    Known,
    Matches,
    Not,
    Number,
    Of,
    OfEnd,
    OfTrace,
    Or,
    Param,
    Pattern,
    Ref,
    Run,
    RunCount,
    Similar,
    Text,
    Times,
    Window,
    Word,
)
from tracegraph.pattern.load import load_adhoc, load_text
from tracegraph.pattern.parser import parse_adhoc, parse_file
from tracegraph.pattern.printer import print_pattern


def body_of(text: str) -> Pattern:
    return parse_adhoc(text).pattern


def where(condition: str) -> Expr:
    """Return the condition of a second step, so that all operands can stand in it."""
    (path,) = body_of(f"a: TOOL -> TOOL where {condition}").body.branches[0].paths
    step = path.steps[1]
    assert isinstance(step, Bind)
    assert step.where is not None
    return step.where


def test_bare_body_gets_the_defaults() -> None:
    pattern = body_of("a: TOOL -> LLM")
    assert (pattern.id, pattern.version) == ("adhoc", 1)
    assert (pattern.confidence, pattern.export) == ("heuristic", "query-only")
    assert pattern.body.returns == ()
    assert body_of("match a: TOOL -> LLM") == pattern


def test_whole_pattern_given_as_text() -> None:
    pattern = body_of(
        'pattern x-1 v12 title "T \\"q\\"" severity critical confidence exact export review '
        'scope session tags [a, mast:FM-1.3] param p = 10k needs args, tool-call-ids because "b" '
        "match TOOL"
    )
    assert pattern.id == "x-1"
    assert pattern.version == 12
    assert pattern.title == 'T "q"'
    assert pattern.severity == "critical"
    assert pattern.confidence == "exact"
    assert pattern.export == "review"
    assert pattern.scope == "session"
    assert pattern.tags == ("a", "mast:FM-1.3")
    assert pattern.params == (("p", Number(10_000)),)
    assert pattern.needs == ("args", "tool-call-ids")
    assert pattern.because == "b"


def test_library_has_thirty_nine_entries_less_the_one_in_both_lists() -> None:
    file = parse_file(fixture("patterns/library.tgp").read_text(encoding="utf-8"), "library.tgp")
    keys = [(parsed.pattern.id, parsed.pattern.version) for parsed in file]
    assert len(set(keys)) == len(keys) == 38
    assert ("tool-retry-failure", 2) in keys


@pytest.mark.parametrize(
    ("written", "edge"),
    [
        ("->", Edge("cause", 1, 1)),
        ("->>", Edge("cause", 1, None)),
        ("->{2}", Edge("cause", 2, 2)),
        ("-> { 2 , 30 }", Edge("cause", 2, 30)),
        ("->{2,}", Edge("cause", 2, None)),
        ("/", Edge("child")),
        ("//", Edge("descendant")),
        ("~>", Edge("scope")),
        ("~>>", Edge("trace")),
        ("->> [no TOOL]", Edge("cause", 1, None, Between(("TOOL",)))),
        ('~> [at most 2 TOOL|LLM "x"]', Edge("scope", between=Between(("TOOL", "LLM"), 2, "x"))),
        (
            "// [no ANY where docs == 0]",
            Edge(
                "descendant",
                between=Between(("ANY",), where=Compare(Field("docs"), "==", Number(0))),
            ),
        ),
    ],
)
def test_edges(written: str, edge: Edge) -> None:
    (path,) = body_of(f"TOOL {written} LLM").body.branches[0].paths
    assert path.edges == (edge,)


def test_bounds_of_a_run_are_not_bounds_of_an_edge() -> None:
    (path,) = (
        body_of("TOOL ->{2,} TOOL {3,} same name, args per scope -> $a").body.branches[0].paths
    )
    assert path.edges[0] == Edge("cause", 2, None)
    assert path.steps[1] == Bind(("TOOL",), run=Run(3, ("name", "args"), None, "scope"))
    assert path.steps[2] == Ref("a")


def test_period_of_a_run() -> None:
    (path,) = body_of("TOOL {3,} period 2..6 same name").body.branches[0].paths
    assert path.steps[0] == Bind(("TOOL",), run=Run(3, ("name",), (2, 6)))


def test_child_edge_on_the_line_after_a_regex() -> None:
    (path,) = body_of("a: TOOL where name matches /x/i\n/ b: TOOL // c: LLM").body.branches[0].paths
    assert [edge.kind for edge in path.edges] == ["child", "descendant"]
    assert path.steps[0] == Bind(("TOOL",), "a", where=Matches(Field("name"), "x", True))


@pytest.mark.parametrize(
    ("text", "expr"),
    [
        ("name == $a.name", Compare(Field("name"), "==", Of("a", "name"))),
        ("ok != status", Compare(Word("ok"), "!=", Field("status"))),
        ("kind == LLM", Compare(Field("kind"), "==", Word("LLM"))),
        ("lossy == true", Compare(Field("lossy"), "==", Word("true"))),
        ("tokens.prompt >= 10k", Compare(Field("tokens.prompt"), ">=", Number(10_000))),
        ("cost < 0.5", Compare(Field("cost"), "<", Number(0.5))),
        ("docs > -1", Compare(Field("docs"), ">", Number(-1))),
        ("docs == 1.5k", Compare(Field("docs"), "==", Number(1500))),
        ("gap < -5s", Compare(Field("gap"), "<", Duration(-5_000_000_000))),
        ("duration > 0.5ms", Compare(Field("duration"), ">", Duration(500_000))),
        ("duration > 2m", Compare(Field("duration"), ">", Duration(120_000_000_000))),
        ("duration > 1h", Compare(Field("duration"), ">", Duration(3_600_000_000_000))),
        ("docs >= 3 * $a.docs", Compare(Field("docs"), ">=", Times(3, Of("a", "docs")))),
        ("name == $a.first.name", Compare(Field("name"), "==", OfEnd("a", "first", "name"))),
        ("docs <= $a.count", Compare(Field("docs"), "<=", RunCount("a"))),
        ('trace.agent == "x"', Compare(OfTrace("agent"), "==", Text("x"))),
        ('attr["k.\\"x\\""] == 1', Compare(Attr('k."x"'), "==", Number(1))),
        ('$a.attr["k"] == 1', Compare(AttrOf("a", "k"), "==", Number(1))),
        ("name == @p", Compare(Field("name"), "==", Param("p"))),
        ('name in ["a", @p]', In(Field("name"), (Text("a"), Param("p")))),
        ("status in [ok, error]", In(Field("status"), (Word("ok"), Word("error")))),
        ("docs is unknown", Known(Field("docs"), False)),
        ("error.type is known", Known(Field("error.type"), True)),
        (r"name matches /a\/b\\\//", Matches(Field("name"), r"a/b\\/")),
        ('similar(output, "sorry") > 0.8', Similar(Field("output"), "sorry", ">", 0.8)),
        ('name == "a\\n\\t\\u{1f600}"', Compare(Field("name"), "==", Text("a\n\t\U0001f600"))),
    ],
)
def test_conditions(text: str, expr: Expr) -> None:
    assert where(text) == expr


def test_not_binds_tighter_than_and_and_and_tighter_than_or() -> None:
    a, b, c = Known(Field("name"), True), Known(Field("docs"), True), Known(Field("cost"), True)
    text = "not name is known and docs is known or cost is known"
    assert where(text) == Or((And((Not(a), b)), c))
    text = "not (name is known and (docs is known or cost is known))"
    assert where(text) == Not(And((a, Or((b, c)))))


def test_clauses_after_the_branches() -> None:
    body = body_of(
        "a: TOOL also $a -> LLM alternatively a: LLM unless $a -> TOOL unless ANY / $a "
        "within 5 steps return $a.name, $a.docs as n"
    ).body
    assert [len(branch.paths) for branch in body.branches] == [2, 1]
    assert len(body.unless) == 2
    assert body.within == Window(steps=5)
    assert body.returns == (Item(Of("a", "name"), "a.name"), Item(Of("a", "docs"), "n"))
    body = body_of("TOOL within 1m having count >= 3 by name, $a.args return name").body
    assert body.within == Window(ns=60_000_000_000)
    assert body.having == Having(3, (Field("name"), Of("a", "args")))


@pytest.mark.parametrize(
    "word",
    "pattern match where not similar unless return count first error no at same per within having "
    "ok attr in is trace name".split(),
)
def test_keywords_are_names_too(word: str) -> None:
    pattern = body_of(
        f"{word}: TOOL -> LLM where name == ${word}.name return ${word}.docs as {word}"
    )
    step = pattern.body.branches[0].paths[0].steps[0]
    assert step == Bind(("TOOL",), word)
    assert pattern.body.returns == (Item(Of(word, "docs"), word),)


def test_places_stand_beside_the_tree() -> None:
    parsed = parse_file("pattern p v1\nmatch\n  a: TOOL\n  -> LLM where docs > 1", "p.tgp")[0]
    (path,) = parsed.pattern.body.branches[0].paths
    assert str(parsed.error("here", path.edges[0])) == "p.tgp: line 4, column 3: here"
    assert str(parsed.error("here", path.steps[0])) == "p.tgp: line 3, column 3: here"
    assert str(parsed.error("here", "version")) == "p.tgp: line 1, column 11: here"


def test_byte_order_mark_comments_and_line_ends() -> None:
    assert body_of("\ufeff# first\r\na: TOOL # second\r\n-> LLM") == body_of("a: TOOL -> LLM")


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("", 1, 1, "ends too early"),
        ("a: TOOL where\n  docs >\n\n", 2, 9, "ends too early"),
        ("a: TOOL whre docs > 1", 1, 9, "'whre'; did you mean 'where'?"),
        ("a: TOOL\n  retrun $a.name", 2, 3, "'retrun'; did you mean 'return'?"),
        ("a: TOOL where docs = 1", 1, 20, "write '=='"),
        ("a: TOOL where docs > 1 && docs < 3", 1, 24, "write 'and'"),
        ("a: TOOL where name == 'x'", 1, 23, "double quotes"),
        ('a: TOOL where name == "x', 1, 23, "ends on its line"),
        ("a: TOOL where name matches /x", 1, 28, "a regex ends on its line"),
        ("a: TOOL where docs > 1 orr docs < 3", 1, 24, "'orr'; did you mean 'or'?"),
        ("A: TOOL", 1, 2, "lower case"),
        ("tool", 1, 1, "a kind such as TOOL"),
        ("a: TOOLS", 1, 4, "unknown kind 'TOOLS'; did you mean 'TOOL'?"),
        ("a: TOOL where kind == LLMS", 1, 23, "unknown kind 'LLMS'; did you mean 'LLM'?"),
        ("a: TOOL where kind == ANY", 1, 23, "unknown kind 'ANY'"),
        ("TOOL -> -> LLM", 1, 9, "unexpected '->'"),
        ("TOOL {3,} where docs > 1", 1, 11, "expected 'period', 'same'"),
        ("TOOL {3,} same name per scop", 1, 25, "did you mean 'scope'?"),
        ("a: TOOL return $a.name having count >= 2 by $a.name", 1, 24, "order also"),
        ("a: TOOL having count > 2 by name", 1, 22, "knows '>=' only"),
        ("a: TOOL having count >= 2 by $a.count", 1, 30, "'by' takes fields"),
        ("a: TOOL return ok", 1, 16, "not a value"),
        ("a: TOOL where ok matches /x/", 1, 15, "expected a field here"),
        ("a: TOOL where 3 * ok == 1", 1, 19, "expected a field here"),
        ("a: TOOL where status is knwon", 1, 25, "did you mean 'known'?"),
        ("a: TOOL where status in [ok, eror]", 1, 30, "did you mean 'error'?"),
        ("a: TOOL -> $a.name", 1, 12, "a step is re-used as '$a'"),
        ("a: TOOL where $a == 1", 1, 15, "name a field of it"),
        ("a: TOOL where $a.first == 1", 1, 15, "name a field of it"),
        ('a: TOOL where name["x"] == 1', 1, 15, "only attr takes a key"),
        ('a: TOOL where $a.name["x"] == 1', 1, 15, "only $name.attr takes a key"),
        ('a: TOOL where name == "\\q"', 1, 23, "unknown escape '\\q'"),
        ('a: TOOL where name == "\\u{d800}"', 1, 23, "unknown escape"),
        ("a: TOOL where docs > 99999999999999999999", 1, 22, "64 bits"),
        ("a: TOOL where docs > " + "9" * 5000, 1, 22, "at most 400 digits"),
        ("a: TOOL where gap > 0.0000001ms", 1, 21, "finer than a nanosecond"),
        ("a: TOOL where gap > 9999999h", 1, 21, "292 years"),
        ("TOOL ->{" + "9" * 30 + "} LLM", 1, 9, "at most 18 digits"),
        ("a: TOOL \x00", 1, 9, "unexpected '\\x00'"),
        ("a: TOOL \ud800", 1, 9, "not valid UTF-8"),
        ("pattern p 2 match TOOL", 1, 11, "a version such as v1"),
        ("pattern p v1 titel match TOOL", 1, 14, "did you mean 'title'?"),
        ("pattern p v1 severity hihg match TOOL", 1, 23, "did you mean 'high'?"),
        ("pattern p v1 needs arg match TOOL", 1, 20, "did you mean 'args'?"),
        ("pattern p v1 param p = @q match TOOL", 1, 14, "not another param"),
        ('pattern p v1 title "a" title "b" match TOOL', 1, 24, "'title' is given twice"),
        ("pattern p v1 param a = 1\nparam a = 2 match TOOL", 2, 1, "'param a' is given twice"),
        ("pattern p v1 match TOOL pattern q v1 match TOOL", 1, 25, "unexpected 'pattern'"),
    ],
)
def test_errors_say_where_and_what(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(PatternError) as caught:
        parse_adhoc(text)
    assert message in caught.value.message
    assert (caught.value.line, caught.value.column) == (line, column)
    assert "\n" not in str(caught.value)


def test_file_without_a_pattern() -> None:
    with pytest.raises(PatternError, match=r"x\.tgp: line 1, column 1: no pattern in this file"):
        parse_file("# nothing\n", "x.tgp")


def test_file_name_stands_in_the_error() -> None:
    with pytest.raises(PatternError, match=r"^x\.tgp: line 2, column 7: unexpected 'a'"):
        parse_file("pattern p v1\nmatch a\n", "x.tgp")


@pytest.mark.parametrize("level", ["not ", "(not ", "(docs > 1 and "])
def test_deep_nesting_is_refused_with_a_place(level: str) -> None:
    closing = ")" * (5000 if level.startswith("(") else 0)
    with pytest.raises(PatternError, match="nests at most 64 levels") as caught:
        parse_adhoc(f"a: TOOL where {level * 5000}docs > 1{closing}")
    assert caught.value.line == 1


def test_parentheses_alone_nest_without_limit() -> None:
    text = f"a: TOOL where {'(' * 20_000}docs > 1{')' * 20_000}"
    assert body_of(text) == body_of("a: TOOL where docs > 1")


TOKENS = (
    "a: b: $a $b $a.name $a.first.name $a.count TOOL LLM ANY TOLL where name docs gap status == != "
    "< >= = 1 2s 10k -1 error true and or not ( ) [ ] { } {2,} {2,3} , | -> ->> / // ~> ~>> no at "
    "most same per scope period .. also alternatively unless within 3 steps having count by return "
    'as x matches /a/ /(/ like "g*" "x in is known unknown contains @p similar attr * '
    "pattern p v1 match title needs args confidence exact export review param # \n \\ é \x00"
).split(" ")


@settings(max_examples=1500, deadline=None)
@given(st.lists(st.sampled_from(TOKENS), max_size=25).map(" ".join))
def test_any_text_gives_patterns_or_one_line(text: str) -> None:
    for load in (load_adhoc, load_text):
        try:
            load(text)
        except PatternError as error:
            assert "\n" not in str(error)
            assert error.message


@settings(max_examples=300, deadline=None)
@given(patterns(WIDE), st.data())
def test_a_damaged_pattern_gives_patterns_or_one_line(
    pattern: Pattern, data: st.DataObject
) -> None:
    text = print_pattern(pattern)
    start = data.draw(st.integers(0, len(text)))
    length = data.draw(st.integers(0, 6))
    damaged = text[:start] + data.draw(st.sampled_from(TOKENS)) + text[start + length :]
    try:
        load_text(damaged, params={"p0": "x"})
    except PatternError as error:
        assert "\n" not in str(error)

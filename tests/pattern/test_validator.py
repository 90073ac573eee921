import pytest

from shared_data import fixture
from tracegraph.errors import PatternError
from tracegraph.pattern.ast import Bind, Body, Branch, Compare, Field, Path, Pattern, Word
from tracegraph.pattern.load import load_adhoc, load_text
from tracegraph.pattern.parsed import Parsed
from tracegraph.pattern.parser import parse_adhoc
from tracegraph.pattern.validator import validate

EXACT = "pattern p v1 confidence exact match "
REVIEW = "pattern p v1 confidence exact export review match "


def test_library_is_valid() -> None:
    text = fixture("patterns/library.tgp").read_text(encoding="utf-8")
    assert len(load_text(text, "library.tgp")) == 38


@pytest.mark.parametrize(
    "text",
    [
        # each is the allowed neighbour of something that is refused below
        "a: TOOL -> b: TOOL where gap > 1s and $a.status == error",
        "a: TOOL -> b: TOOL -> TOOL where gap > $b.gap",
        "a: TOOL -> xs: TOOL {3,} same name where docs > $a.docs",
        "xs: TOOL {1,} period 2..2 same name, args -> LLM where name == $xs.name",
        "xs: TOOL {1,} same name -> LLM where docs > $xs.last.docs and $xs.count <= 5",
        "a: TOOL unless $a -> TOOL unless $a ->> TOOL",
        "a: TOOL unless TOOL where name == $a.name and start > $a.end",
        "a: TOOL -> b: TOOL unless $a ->{2} $b",
        "a: TOOL unless b: TOOL -> $a unless b: LLM -> $a",
        "a: TOOL also $a -> LLM also TOOL where name == $a.name",
        "a: TOOL alternatively a: LLM return $a.name",
        "a: TOOL alternatively b: LLM -> a: TOOL unless $a -> TOOL",
        "TOOL having count >= 2 by name return name as tool",
        "a: TOOL -> b: LLM within 60s having count >= 2 by $b.name return $b.name",
        "a: TOOL -> b: LLM within 3 steps",
        'TOOL ->> [no LLM] TOOL // [no LLM where name == "x"] TOOL ->{1,2} [no TOOL] LLM',
        "TOOL ~> [at most 2 LLM] TOOL ~>> [at most 1 ANY] TOOL",
        "a: TOOL where start < end and duration > 2 * $b.duration or 3 == docs".replace(
            "$b.duration", "duration"
        ),
        'TOOL where attr["x"] > 3 and attr["y"] == "z" and attr["z"] matches /a/',
        'TOOL where signals contains "tool_error" and name contains "x"',
        "TOOL where args == result and args is known",
        "TOOL where name == @p and duration > @q",
        EXACT + "a: TOOL ->> TOOL unless $a ~>> TOOL where seq > 3",
        EXACT + "a: TOOL return $a.seq",
        REVIEW + "a: TOOL where error == status and docs > 1 return $a.name",
        REVIEW + "a: TOOL where status == error unless $a ->> LLM return $a.name as n",
        REVIEW + "TOOL where status == error having count >= 2 by name return name",
    ],
)
def test_allowed(text: str) -> None:
    validate(parse_adhoc(text))


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        # fields and names
        (
            "a: TOOL where toknes.prompt > 1",
            1,
            15,
            "'toknes.prompt'; did you mean 'tokens.prompt'?",
        ),
        (
            "a: TOOL -> LLM where $a.nmae == name",
            1,
            22,
            "unknown field 'nmae'; did you mean 'name'?",
        ),
        ('a: TOOL where trace.sorce == "x"', 1, 15, "'trace.sorce'; did you mean 'source'?"),
        (
            "a: TOOL where trace.attributes.reward == 0",
            1,
            15,
            "run_id; tracegraph cypher asks for others: json_extract(t.attributes, '$.reward')",
        ),
        ("a: TOOL return $a.nme", 1, 16, "did you mean 'name'?"),
        ("a: TOOL {3,} same name, arg", 1, 25, "unknown field 'arg'; did you mean 'args'?"),
        ("first: TOOL -> LLM where name == $frist.name", 1, 34, "'$frist'; did you mean 'first'?"),
        ("a: TOOL where name == $zz.name", 1, 23, "unknown name '$zz'"),
        ("a: TOOL -> $b", 1, 12, "unknown name '$b'"),
        ("a: TOOL where name == $b.name -> b: TOOL", 1, 23, "'$b' is used before"),
        ("a: TOOL where name == $a.name", 1, 23, "'$a' is used before"),
        ("a: TOOL ~> [no LLM where name == $b.name] b: TOOL", 1, 34, "'$b' is used before"),
        ("a: TOOL -> $b also $a -> b: LLM", 1, 12, "'$b' is used before"),
        ("a: TOOL -> a: LLM", 1, 12, "the name 'a' is taken: write '$a'"),
        ("a: TOOL unless a: LLM -> $a", 1, 16, "the name 'a' is taken"),
        ("a: TOOL unless $a -> b: LLM return $b.name", 1, 36, "unknown name '$b'"),
        ("a: TOOL also LLM -> TOOL", 1, 14, "an 'also' path needs"),
        ("a: TOOL alternatively b: TOOL return $a.name", 1, 38, "'$a' is not bound by every"),
        ("a: TOOL alternatively b: TOOL unless $a -> LLM", 1, 38, "'$a' is not bound by every"),
        (
            "a: TOOL alternatively TOOL unless LLM where name == $a.name",
            1,
            53,
            "not bound by every",
        ),
        ("a: TOOL alternatively b: TOOL having count >= 2 by $b.name", 1, 52, "not bound by every"),
        # unless
        ("a: TOOL\nunless LLM -> TOOL", 2, 1, "an 'unless' path needs a '$name'"),
        ("a: TOOL\nunless $a", 2, 1, "an edge or a step of its own"),
        # edges
        ("TOOL ->{3,2} LLM", 1, 6, "bounds {3,2} are the wrong way round"),
        ("TOOL ->{0,2} LLM", 1, 6, "at least one edge"),
        ("TOOL ->{0} LLM", 1, 6, "at least one edge"),
        ("TOOL -> [no LLM] TOOL", 1, 9, "nothing lies inside '->'"),
        ("TOOL ->{1} [no LLM] TOOL", 1, 12, "nothing lies inside '->'"),
        ("TOOL / [no LLM] TOOL", 1, 8, "nothing lies inside '/'"),
        ("TOOL ->> [at most 2 LLM] TOOL", 1, 10, "'at most' stands after ~> and ~>>"),
        ("TOOL // [at most 2 LLM] TOOL", 1, 9, "'at most' stands after ~> and ~>>"),
        # runs
        ("xs: TOOL {0,} same name", 1, 11, "at least one step"),
        ("xs: TOOL {2,} period 3..2 same name", 1, 11, "has to rise"),
        ("xs: TOOL {2,} period 0..2 same name", 1, 11, "has to rise"),
        ("xs: TOOL {2,} same name, name", 1, 26, "'name' stands twice"),
        ("xs: TOOL {2,} same signals", 1, 20, "'same' does not take 'signals'"),
        ("LLM -> xs: TOOL {2,} same gap", 1, 27, "'same' does not take 'gap'"),
        ("xs: TOOL {2,} same name return $xs.docs", 1, 32, "may differ inside the run"),
        ('xs: TOOL {2,} same name return $xs.attr["k"]', 1, 32, "it is a run"),
        ("x: TOOL return $x.count", 1, 16, "'$x' is one step, no run"),
        ("x: TOOL return $x.first.name", 1, 16, "'$x' is one step, no run"),
        # gap
        ("a: TOOL where gap > 1s", 1, 15, "first step of its path"),
        ("a: TOOL also b: LLM where gap > 1s -> $a", 1, 27, "first step of its path"),
        ("a: TOOL -> b: LLM where gap > $a.gap", 1, 31, "gap needs a step on the left"),
        ("a: TOOL ~> [no LLM where gap > 1s] TOOL", 1, 26, "has no gap"),
        ("a: TOOL having count >= 2 by gap", 1, 30, "first step of its path"),
        ("a: TOOL return $a.gap", 1, 16, "gap needs a step on the left"),
        # types
        ("a: TOOL where duration > 3", 1, 26, "write a unit, such as 3s"),
        ("a: TOOL where docs > 3s", 1, 22, "a number cannot be compared with a duration"),
        ('a: TOOL where status == "error"', 1, 25, "write error without quotes"),
        ('a: TOOL where kind == "LLM"', 1, 23, "write LLM without quotes"),
        ("a: TOOL where status == eror", 1, 25, "unknown status 'eror'; did you mean 'error'?"),
        ("a: TOOL where running != status", 1, 15, "known are unset, ok, error"),
        ("a: TOOL where lossy == yes", 1, 24, "unknown bool 'yes'; known are true, false"),
        ("a: TOOL where kind == tool", 1, 23, "unknown kind 'tool'; known are UNKNOWN, AGENT"),
        ("a: TOOL where name == slow", 1, 23, "unknown field 'slow'; a text is written \"slow\""),
        ("a: TOOL where name == modle", 1, 23, "unknown field 'modle'; did you mean 'model'?"),
        ("a: TOOL where name == error", 1, 23, 'write "error" in double quotes'),
        ("a: TOOL where status == TOOL", 1, 25, "a status cannot be compared with a kind"),
        ("a: TOOL where lossy == ok", 1, 24, "a bool cannot be compared with a status"),
        ('a: TOOL where name < "b"', 1, 15, "a text has no order"),
        ("a: TOOL where status > error", 1, 15, "a status has no order"),
        ("a: TOOL where args < result", 1, 15, "a digest has no order"),
        ('a: TOOL where args == "x"', 1, 23, "a digest cannot be compared with a text"),
        ("a: TOOL where start > 5s", 1, 23, "a time cannot be compared with a duration"),
        ("a: TOOL where signals == signals", 1, 15, "signals are asked with contains"),
        ("a: TOOL where 1 == 1", 1, 15, "a comparison needs a field"),
        ("a: TOOL where docs > 2 * name", 1, 22, "a text cannot be multiplied"),
        ("a: TOOL where docs in [1, 2s]", 1, 27, "a number cannot be compared with a duration"),
        ("a: TOOL where start in [1]", 1, 15, "'in' does not take a time"),
        ("a: TOOL where docs matches /x/", 1, 28, "'matches' takes a text, not a number"),
        ('a: TOOL where status like "e*"', 1, 15, "'like' takes a text, not a status"),
        ('a: TOOL where docs contains "1"', 1, 15, "takes a text or signals, not a number"),
        ('a: TOOL where signals contains "tool_eror"', 1, 32, "did you mean 'tool_error'?"),
        ('a: TOOL where similar(docs, "x") > 0.5', 1, 15, "'similar' takes a text"),
        ('a: TOOL where similar(output, "x") > 2', 1, 15, "between -1 and 1"),
        ("a: TOOL where not (docs > 1 or name matches /(?=x)/)", 1, 45, "regex: only '(...)'"),
        ("a: TOOL where name matches /a{1001}/", 1, 28, "regex: bounds go up to 1000"),
        # clauses
        ("a: TOOL within -1s", 1, 9, "not negative"),
        ("a: TOOL within 3 steps having count >= 2 by name", 1, 9, "takes a duration"),
        ("a: TOOL having count >= 0 by name", 1, 9, "starts at 1"),
        ("a: TOOL -> LLM having count >= 2 by name", 1, 37, "write '$name.name'"),
        ("xs: TOOL {2,} same name having count >= 2 by name", 1, 46, "write '$name.name'"),
        ("a: TOOL having count >= 2 by signals", 1, 30, "'by' does not take signals"),
        ("a: TOOL having count >= 2 by name return $a.docs", 1, 42, "returns its 'by' fields only"),
        ("a: TOOL return name", 1, 16, "of which step?"),
        ('a: TOOL return attr["k"]', 1, 16, "of which step?"),
        ("a: TOOL return $a.name as x, $a.docs as x", 1, 30, "two returned values are called 'x'"),
        # exact
        (EXACT + "a: TOOL ~> TOOL", 1, 45, "does not admit '~>'"),
        (EXACT + "a: TOOL ~>> TOOL", 1, 45, "does not admit '~>>'"),
        (EXACT + "a: TOOL {2,} same name", 1, 46, "does not admit runs"),
        (EXACT + "a: TOOL where seq > 3", 1, 51, "does not admit seq"),
        (EXACT + "a: TOOL -> LLM where docs > $a.seq", 1, 65, "does not admit seq"),
        (EXACT + 'a: TOOL where similar(output, "x") > 0.5', 1, 51, "does not admit similar()"),
        (EXACT + "a: TOOL -> TOOL within 3 steps", 1, 53, "counts by seq"),
        # review
        ("pattern p v1 export review match t: TOOL", 1, 14, "demands confidence exact"),
        (REVIEW + "a: LLM ->> t: TOOL where status == error return $t.name", 1, 58, "no unbounded"),
        (REVIEW + "a: TOOL ->{2,} TOOL where status == error", 1, 59, "no unbounded"),
        (REVIEW + "t: TOOL where status == error", 1, 31, "whose name is returned"),
        (REVIEW + "t: TOOL return $t.name", 1, 31, "whose name is returned"),
        (REVIEW + "t: TOOL | LLM where status == error return $t.name", 1, 31, "whose name is"),
        (
            REVIEW + "t: TOOL where status == error or docs > 1 return $t.name",
            1,
            31,
            "whose name is",
        ),
        (REVIEW + "t: TOOL where not status == error return $t.name", 1, 31, "whose name is"),
        (
            REVIEW + "t: TOOL where status == error alternatively t: TOOL return $t.name",
            1,
            31,
            "in every branch",
        ),
        # headers
        ("pattern Tool-x v1 match TOOL", 1, 9, "'Tool-x' is no pattern id"),
        ("pattern a_b v1 match TOOL", 1, 9, "'a_b' is no pattern id"),
        ("pattern a v0 match TOOL", 1, 11, "versions start at v1"),
        ("pattern a v1\nparam p = 1 match TOOL", 2, 1, "'@p' is never used"),
        ("pattern a v1 param p = 1 match TOOL where name == @p", 1, 51, "compared with a number"),
    ],
)
def test_refused_with_place_and_reason(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(PatternError) as caught:
        validate(parse_adhoc(text))
    assert message in caught.value.message
    assert (caught.value.line, caught.value.column) == (line, column)


def test_id_and_version_stand_once_in_a_file() -> None:
    text = "pattern p v1 match TOOL\npattern p v2 match TOOL\n"
    assert [pattern.version for pattern in load_text(text)] == [1, 2]
    with pytest.raises(PatternError) as caught:
        load_text(text + "pattern p v1 match LLM", "p.tgp")
    assert str(caught.value) == "p.tgp: line 3, column 9: 'p v1' is in this file twice"


def test_pattern_made_in_python_is_checked_without_places() -> None:
    where = Compare(Field("statuss"), "==", Word("error"))
    body = Body((Branch((Path((Bind(("TOOL",), "t", where=where),)),)),))
    with pytest.raises(PatternError, match=r"^mine: unknown field 'statuss'"):
        validate(Parsed(Pattern("mine", 1, body)))
    with pytest.raises(PatternError, match=r"unknown kind 'TOLL'; did you mean 'TOOL'\?"):
        validate(Parsed(Pattern("mine", 1, Body((Branch((Path((Bind(("TOLL",)),)),)),)))))


def test_load_gives_checked_patterns() -> None:
    assert load_adhoc("a: TOOL").id == "adhoc"
    with pytest.raises(PatternError):
        load_adhoc("a: TOOL where toknes.prompt > 1")

import msgspec
import pytest
from hypothesis import given, settings

from pattern.strategies import SMALL, WIDE, patterns
from shared_data import fixture
from tracegraph.pattern.ast import Pattern
from tracegraph.pattern.literals import parse_duration, print_duration, print_number
from tracegraph.pattern.parsed import Parsed
from tracegraph.pattern.parser import parse_adhoc, parse_file
from tracegraph.pattern.printer import digest, print_pattern
from tracegraph.pattern.validator import validate


@settings(max_examples=300, deadline=None)
@given(patterns(WIDE))
def test_parse_of_print_is_the_same_pattern(pattern: Pattern) -> None:
    assert parse_adhoc(print_pattern(pattern)).pattern == pattern


@settings(max_examples=300, deadline=None)
@given(patterns(WIDE) | patterns(SMALL))
def test_random_patterns_are_valid(pattern: Pattern) -> None:
    validate(Parsed(pattern))


def test_library_survives_printing() -> None:
    text = fixture("patterns/library.tgp").read_text(encoding="utf-8")
    for parsed in parse_file(text):
        assert parse_adhoc(print_pattern(parsed.pattern)).pattern == parsed.pattern


def test_canonical_text() -> None:
    pattern = parse_adhoc(
        'pattern p v2 severity high title "t" needs times tags[x] param q="a" confidence heuristic'
        ' match a:TOOL|LLM"x*"where(not(status==error)and name in["b",@q])or docs>10k ->{1,}'
        "[no TOOL]xs:TOOL{3,}same name,args per scope also $a ~>[at most 2 ANY]c:LLM"
        " alternatively a:ANY/c:LLM unless $a->{2,2}TOOL within 90s return $a.name as n,$c.name"
    ).pattern
    assert print_pattern(pattern) == (
        "pattern p v2\n"
        '  title "t"\n'
        "  severity high\n"
        "  tags [x]\n"
        "  needs times\n"
        '  param q = "a"\n'
        "match\n"
        '  a: TOOL | LLM "x*" where not status == error and name in ["b", @q] or docs > 10000\n'
        "  ->> [no TOOL] xs: TOOL {3,} same name, args per scope\n"
        "also\n"
        "  $a\n"
        "  ~> [at most 2 ANY] c: LLM\n"
        "alternatively\n"
        "  a: ANY\n"
        "  / c: LLM\n"
        "unless $a ->{2} TOOL\n"
        "within 90s\n"
        "return $a.name as n, $c.name\n"
    )


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0s"),
        (7_200_000_000_000, "2h"),
        (90_000_000_000, "90s"),
        (-1_500_000_000, "-1500ms"),
        (1_500_000, "1.5ms"),
        (-1, "-0.000001ms"),
    ],
)
def test_durations(ns: int, text: str) -> None:
    assert print_duration(ns) == text
    assert parse_duration(text) == ns


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (3, "3"),
        (3.0, "3.0"),
        (1e-7, "0.0000001"),
        (1e22, "10000000000000000000000.0"),
        (-0.5, "-0.5"),
    ],
)
def test_numbers_have_no_exponent(number: int | float, text: str) -> None:
    assert print_number(number) == text


def _digest(text: str) -> str:
    return digest(parse_adhoc(text).pattern)


PLAIN = 'pattern p v1 match a: TOOL | LLM where name == "x" and status == error and docs > 1'


@pytest.mark.parametrize(
    "same",
    [
        'pattern p v1 title "t" severity low tags [x] because "b" match a: LLM | TOOL | LLM '
        'where (name == "x" and status == error) and docs > 1',
        "pattern p v1 confidence heuristic export query-only scope trace match a: TOOL | LLM "
        'where name == "x" and (status == error and docs > 1) # a comment',
    ],
)
def test_digest_is_of_the_meaning(same: str) -> None:
    assert _digest(same) == _digest(PLAIN)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("pattern p", "pattern q"),
        ("v1", "v2"),
        ("v1 match", "v1 confidence exact match"),
        ("v1 match", "v1 scope session match"),
        ("v1 match", "v1 needs docs match"),
        ("docs > 1", "docs >= 1"),
        ("docs > 1", "docs > 1 return $a.name"),
        ("a: TOOL", "b: TOOL"),
        ("TOOL | LLM", "TOOL"),
        ("and status", "or status"),
    ],
)
def test_digest_changes_with_the_meaning(old: str, new: str) -> None:
    assert old in PLAIN
    assert _digest(PLAIN.replace(old, new)) != _digest(PLAIN)


def test_digest_of_param_default_and_export_counts() -> None:
    text = 'pattern p v1 param n = "a" match t: TOOL where name == @n'
    assert _digest(text) != _digest(text.replace('"a"', '"b"'))
    text = (
        "pattern p v1 confidence exact export review "
        "match t: TOOL where status == error return $t.name"
    )
    assert _digest(text) != _digest(text.replace("export review", ""))


def test_stored_form_of_a_pattern_is_lossless() -> None:
    text = fixture("patterns/library.tgp").read_text(encoding="utf-8")
    for parsed in parse_file(text):
        stored = msgspec.json.encode(parsed.pattern)
        assert msgspec.json.decode(stored, type=Pattern) == parsed.pattern

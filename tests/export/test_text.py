import pytest

from tracegraph.export.text import gaps_text, markdown, visible, width


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("caf\u00e9 日本", "caf\u00e9 日本"),
        ("a\x00b", "a\\x00b"),
        ("a\nb\tc\rd", "a\\nb\\tc\\rd"),
        ("\x1b[31mred\x9b0m", "\\x1b[31mred\\x9b0m"),
        ("safe\u202egnp.exe", "safe\\u202egnp.exe"),
        ("\ud800", "\\ud800"),
        ("\U000e0001", "\\U000e0001"),
        ("two\u2028lines", "two\\u2028lines"),
        ("non\u00a0breaking", "non\u00a0breaking"),
    ],
)
def test_visible_writes_out_what_a_terminal_would_act_upon(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_markdown_escapes_what_would_break_a_cell() -> None:
    assert markdown("a|b*c`<x>&[l](u)") == "a\\|b\\*c\\`&lt;x>&amp;\\[l\\](u)"


@pytest.mark.parametrize(("text", "columns"), [("abc", 3), ("日本", 4), ("cafe\u0301", 4)])
def test_width_counts_terminal_columns(text: str, columns: int) -> None:
    assert width(text) == columns


def test_of_many_codes_the_most_frequent_are_named_and_the_others_counted() -> None:
    few = {f"a.code{n}": n for n in range(1, 9)}
    assert gaps_text(few) == "; gaps: " + ", ".join(f"a.code{n} {n}" for n in range(1, 9))
    told = gaps_text({**few, "a.code0": 9, "z.rare": 1})
    assert told.startswith("; gaps: a.code0 9, a.code2 2, a.code3 3, ")
    assert told.endswith(", a.code8 8 and 2 more codes (tracegraph ingest lists all)")
    assert gaps_text({}) == ""

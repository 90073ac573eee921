"""Every pattern in docs/pattern-language.md is valid."""

import re

import pytest

from shared_data import ROOT
from tracegraph.errors import PatternError
from tracegraph.pattern.fields import FEATURES, KINDS, SIGNALS, STEP_FIELDS, TRACE_FIELDS
from tracegraph.pattern.load import load_adhoc, load_text

TEXT = (ROOT / "docs" / "pattern-language.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(tgp|tgp-body)\n(.*?)```", TEXT, re.DOTALL)
QUERIES = re.findall(
    r"^\$ tracegraph query -e '(.*)' examples/\w*(?:  # exit 2)?$", TEXT, re.MULTILINE
)


@pytest.mark.parametrize(("form", "text"), BLOCKS)
def test_patterns_of_the_reference_are_valid(form: str, text: str) -> None:
    if form == "tgp":
        assert load_text(text)
    else:
        assert load_adhoc(text).body.branches


def test_queries_of_the_reference() -> None:
    right, wrong = QUERIES
    assert load_adhoc(right).body.branches
    with pytest.raises(PatternError) as caught:
        load_adhoc(wrong)
    assert f"tracegraph: {caught.value}" in TEXT


WORDS = [*KINDS, *STEP_FIELDS, *SIGNALS, *FEATURES, *(f"trace.{name}" for name in TRACE_FIELDS)]


@pytest.mark.parametrize("word", WORDS)
def test_reference_names_every_word(word: str) -> None:
    assert re.search(rf"(?<![\w.]){re.escape(word)}(?![\w.])", TEXT)

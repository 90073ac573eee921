"""Every gap code that the engine can name is explained in docs/gaps.md, and no other."""

import re

from shared_data import ROOT
from tracegraph.ingest import span_gaps
from tracegraph.ingest.registry import REGISTERED

_AREAS = "|".join(
    [entry.name for entry in REGISTERED] + "text clock causes files corpus sessions".split()
)
_LITERAL = re.compile(rf'"((?:{_AREAS})\.[a-z0-9_]*[a-z0-9])"')
_NO_CODES = {"corpus.json"}
_OF_SPANS = {
    f"otlp.{code}"  # the other areas of span_gaps have the same
    for name, code in vars(span_gaps).items()
    if name.isupper() and isinstance(code, str)
}
_FROM_PARTS = re.compile(r"^(otlp\.dropped_|agentdelta\.(torn|unreadable)_line|\w+\.unreadable_)")


def _in_engine() -> set[str]:
    texts = (p.read_text(encoding="utf-8") for p in (ROOT / "engine").rglob("*.py"))
    found = {code for text in texts for code in _LITERAL.findall(text)}
    return (found | _OF_SPANS) - _NO_CODES


def _in_docs() -> set[str]:
    text = (ROOT / "docs" / "gaps.md").read_text(encoding="utf-8")
    return set(re.findall(rf"`((?:{_AREAS})\.[a-z0-9_]+)`", text))


def test_every_code_is_explained() -> None:
    assert _in_engine() - _in_docs() == set()


def test_no_code_is_invented() -> None:
    assert {c for c in _in_docs() - _in_engine() if not _FROM_PARTS.match(c)} == set()

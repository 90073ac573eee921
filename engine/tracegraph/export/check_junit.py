"""A check as JUnit XML: a rule is a test case, and what it cannot know is an error, never skipped.

There is no one standard; elements and attributes are those that CI systems read in common
(``testsuites``, ``testsuite``, ``properties``, ``testcase``, ``failure``, ``error``).
"""

import re
from collections.abc import Iterable, Iterator
from xml.sax.saxutils import escape, quoteattr

from tracegraph.export.check import Checked, Item, rule_item
from tracegraph.export.check_words import evidence_text, note_text, rule_text
from tracegraph.export.text import visible

_ELEMENT = {"FAIL": "failure", "INSUFFICIENT_EVIDENCE": "error"}
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 (section 2.2) has no way to hold, be it escaped."""


def check_junit(told: Checked) -> Iterator[str]:
    """Yield the document."""
    items = [rule_item(judged, told) for judged in told.check.rules]
    outcomes = [item["outcome"] for item in items]
    counts = (
        f'tests="{len(items)}" failures="{outcomes.count("FAIL")}" '
        f'errors="{outcomes.count("INSUFFICIENT_EVIDENCE")}"'
    )
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f'<testsuites name="tracegraph check" {counts}>\n'
    yield f'  <testsuite name="tracegraph check" {counts} skipped="0">\n    <properties>\n'
    yield from (
        f"      <property name={_value(name)} value={_value(value)}/>\n"
        for name, value in _properties(told)
    )
    yield "    </properties>\n"
    for item in items:
        yield from _case(item)
    yield "  </testsuite>\n</testsuites>\n"


def _properties(told: Checked) -> Iterator[tuple[str, str]]:
    yield "verdict", told.check.verdict
    for run, digest in zip(told.check.pair.runs, told.digests, strict=True):
        yield f"{run.which}.trace_id", run.trace.trace_id
        yield f"{run.which}.artifact_digest", digest


def _case(item: Item) -> Iterator[str]:
    head = f'    <testcase classname="tracegraph.check" name={_value(rule_text(item))}'
    found = [evidence_text(each) for each in item["evidence"]]
    reasons = [note_text(note) for note in item["reasons"]]
    notes = [f"note: {note_text(note)}" for note in item["limitations"]]
    element = _ELEMENT.get(item["outcome"])
    if element is None:
        out = _text([*found, *notes])
        yield f"{head}>\n      <system-out>{out}</system-out>\n    </testcase>\n"
        return
    message = _value("; ".join((found or reasons)[:1] if element == "failure" else reasons))
    body = _text([*found, *reasons, *notes])
    yield f"{head}>\n      <{element} type={_value(item['outcome'])} message={message}>"
    yield f"{body}</{element}>\n    </testcase>\n"


def _text(lines: Iterable[str]) -> str:
    return escape("\n".join(map(_held, lines)))


def _value(text: str) -> str:
    return quoteattr(_held(text))


def _held(text: str) -> str:
    r"""Write what XML cannot hold as ``\x00`` or ``\uffff``."""
    return _FORBIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", visible(text))

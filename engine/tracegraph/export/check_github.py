"""A check as workflow commands of GitHub Actions, which show as annotations.

Escaping: ``%``, CR and LF in the message, ``:`` and ``,`` too in a property (GitHub documentation,
"Workflow commands for GitHub Actions"; the runner's ``ActionCommand`` undoes it).
"""

from collections.abc import Iterator

from tracegraph.export.check import Checked, rule_item
from tracegraph.export.check_words import evidence_text, note_text, rule_text
from tracegraph.export.text import visible

_LEVEL = {"PASS": "notice", "FAIL": "error", "INSUFFICIENT_EVIDENCE": "error"}
_LISTED = 10
"""Findings and reasons that one annotation spells out; how many more there are is said."""


def check_annotations(told: Checked) -> Iterator[str]:
    """Yield one command for each rule: an error unless it passes."""
    for judged in told.check.rules:
        item = rule_item(judged, told)
        texts = [evidence_text(found) for found in item["evidence"]]
        texts += [note_text(note) for note in item["reasons"]]
        more = [f"and {len(texts) - _LISTED} more"] if len(texts) > _LISTED else []
        title = _property(visible(f"{item['outcome']} {rule_text(item)}"))
        message = _data("\n".join(map(visible, [*texts[:_LISTED], *more])) or "nothing increased")
        yield f"::{_LEVEL[item['outcome']]} title={title}::{message}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")

"""Evidence for a person to review: which tool of which run failed as a preset says.

Built from an allowlist under the contract ``review-candidates``: ids, the tool's qualified key and
a digest. No step or trace ids, no error text, no paths, no other names.
"""

import re
from collections.abc import Collection
from typing import NamedTuple

from tracegraph.export.table import Report, Table

_RUN_ID = re.compile(r"\S{1,256}")
_TOOL_KEY = re.compile(r"(?=.{1,512}\Z)[A-Za-z0-9_./#@-]+(?:::?[A-Za-z0-9_./#@-]+)*")


class Candidate(NamedTuple):
    """One finding, in the order in which findings are sorted."""

    run_id: str
    pattern_id: str
    pattern_version: int
    tool_key: str
    artifact_digest: str


def is_run_id(text: str) -> bool:
    """Tell whether a run id can stand in the report: 1 to 256 characters, none of them blank."""
    return bool(_RUN_ID.fullmatch(text))


def is_tool_key(name: str) -> bool:
    """Tell whether the name of a tool says which server it belongs to, as in ``server::tool``."""
    return "::" in name and bool(_TOOL_KEY.fullmatch(name))


def candidates_report(candidates: Collection[Candidate]) -> Report:
    """Report findings, each once, sorted: the same traces make the same bytes."""
    rows = sorted(set(candidates))
    items = [row._asdict() for row in rows]
    return Report(
        "review-candidates",
        1,
        lambda: {"candidates": items},
        lambda: items,
        lambda: Table(Candidate._fields, rows),
    )

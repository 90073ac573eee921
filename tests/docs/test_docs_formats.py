"""docs/formats.md says what the adapters do. ``TRACEGRAPH_UPDATE_GOLDEN=1`` writes it anew."""

import os

import pytest

from docs.format_notes import NOT_RECORDED, TITLES
from docs.format_table import FIELDS, Measured, render
from shared_data import ROOT
from tracegraph.ingest.registry import REGISTERED


def test_the_table_is_what_the_fixtures_give() -> None:
    path = ROOT / "docs" / "formats.md"
    found = render()
    if os.environ.get("TRACEGRAPH_UPDATE_GOLDEN"):
        path.write_text(found, encoding="utf-8")
    assert found == path.read_text(encoding="utf-8")


def test_every_format_is_there() -> None:
    assert set(TITLES) == {entry.name for entry in REGISTERED} - {"artifact"}


@pytest.mark.parametrize("name", TITLES)
def test_what_is_missing_has_a_reason_and_nothing_else(name: str) -> None:
    reasons = {what for what in NOT_RECORDED[name] if what in FIELDS}
    assert reasons == set(FIELDS) - Measured(name).fields

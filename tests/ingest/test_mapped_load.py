"""Mapping files: what they say, and what is said of a fault in one."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapped_logs import SIMPLE
from tracegraph.errors import InputError
from tracegraph.ingest.mapped.load import parse_map


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x =", "not TOML: "),
        ("[fields]\nname = 'a'", "version: write version = 1"),
        ("version = 2\n[fields]\nname = 'a'", "version: write version = 1"),
        ("version = 1", "fields: assign at least one"),
        ("version = 1\nfields = 1", "fields: a table"),
        ("version = 1\n[field]\nname = 'a'", "field: no such key; did you mean fields?"),
        ("version = 1\n[fields]\nid = 'a'", "fields.id: no such field; did you mean step_id?"),
        ("version = 1\n[fields]\nstats = 'a'", "fields.stats: no such field; did you mean status?"),
        ("version = 1\n[fields]\nlatency_ms = 'a'", "fields.latency_ms: no such field; did you "
         "mean duration?"),
        ("version = 1\n[fields]\nname = 1", "fields.name: the name of a column"),
        ("version = 1\n[fields]\nparent = 'p'", "parent.is: write "),
        ("version = 1\n[fields]\nparent = 'p'\n[parent]\nis = 'x'", "parent.is: write "),
        ("version = 1\n[fields]\nduration = 'p'", "units.duration: say what"),
        ("version = 1\n[fields]\nname = 'p'\n[units]\nstart = 'min'", "units.start: one of s, ms"),
        ("version = 1\n[fields]\nname = 'p'\n[status]\nok = true", "status.ok: a list"),
        ("version = 1\n[fields]\nname = 'p'\n[status]\nok = ['x']\nerror = ['X']", "status.error:"),
        ("version = 1\n[fields]\nname = 'p'\n[kind]\ntool = ['x']", "kind.tool: no such key; did "
         "you mean kind.TOOL?"),
        ("version = 1\n[fields]\nname = 'p'\n[kind]\ndefault = 'tool'", "kind.default: one of"),
        ("version = 1\n[fields]\nname = 'p'\n[source]\ndelimiter = ';;'", "source.delimiter: one"),
        ("version = 1\n[fields]\nname = 'p'\n[source]\nnull = [1]", "source.null: a list"),
        ("version = 1\n[fields]\nstep_id = 'p'\n[rows]\nsame_id = 'x'", "rows.same_id: write "),
        ("version = 1\n[fields]\nname = 'p'\n[rows]\nsame_id = 'parts'", "rows.same_id: assign "
         "fields.step_id"),
        ("version = 1\nlabels = 'x'\n[fields]\nname = 'p'", "labels: a list of columns"),
    ],
)  # fmt: skip
def test_a_fault_of_a_mapping_is_one_line_with_file_key_and_remedy(text: str, told: str) -> None:
    with pytest.raises(InputError) as raised:
        parse_map(text, "a.map.toml")
    assert str(raised.value).startswith(f"a.map.toml: {told}")
    assert "\n" not in str(raised.value)


def test_the_digest_is_that_of_what_a_mapping_says() -> None:
    same = "# a comment\n" + SIMPLE.replace("version = 1", "version = 1\nunused = ['x']")
    assert parse_map(SIMPLE, "a").digest == parse_map(same, "b").digest
    other = SIMPLE.replace('"ms"\n[status]', '"s"\n[status]')
    assert parse_map(SIMPLE, "a").digest != parse_map(other, "a").digest


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=80))
def test_any_text_is_a_mapping_or_refused_in_one_line(text: str) -> None:
    for each in (
        text,
        "version = 1\n" + text,
        f"version = 1\n[fields]\nname = {json.dumps(text, ensure_ascii=False)}",
    ):
        try:
            parse_map(each, "m")
        except InputError as error:
            assert "\n" not in str(error)

"""Home-made logs in every kind of file, whole and damaged, and what a mapping leaves of them."""

import csv
import io
import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapped_logs import MADE, SIMPLE, drafts, edges, fields, first, left, lines, read, read_all
from shared_data import fixture
from trace_view import gaps
from tracegraph.errors import (
    InputError,
    RecordLimitError,
    StrictError,
    UnknownFormatError,
    UsageError,
)
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.mapped.adapter import MappedAdapter
from tracegraph.ingest.mapped.load import load_map, parse_map
from tracegraph.ingest.mapped.path import path_text
from tracegraph.ingest.source import Source
from tracegraph.model.seal import seal
from tracegraph.model.trace import Trace, iterate


def test_records_inside_of_a_document() -> None:
    mapping = load_map(fixture("mapped_document/document.map.toml"))
    source = Source.open(fixture("mapped_document/made_document.json"), "d.json")
    (draft,) = MappedAdapter().read([source], ReadOptions(mapping=mapping))
    (trace,) = iterate(seal(draft))
    whole = json.loads(fixture("mapped_document/made_document.json").read_text(encoding="utf-8"))
    assert trace.trace_id == whole["run"]
    assert trace.attributes == {"labels": {"app.version": whole["app"]["version"]}}
    assert [s.name for s in trace.steps] == [each["tool"] for each in whole["steps"]]
    assert {s.kind for s in trace.steps} == {"TOOL"}
    assert edges(trace, "edge") == {("1", "2")}


def test_each_document_with_records_is_a_trace() -> None:
    mapping = fields(name="n") + '[source]\nrecords = "run[0].steps"\n'
    run = {"run": [{"steps": [{"n": "a"}, {"n": "b"}]}]}
    traces = read_all(lines(run, run), mapping)
    assert [(t.trace_id, len(t)) for t in traces] == [("log", 2), ("log~2", 2)]


def test_a_document_without_the_list_costs_itself() -> None:
    mapping = fields(name="n") + '[source]\nrecords = "steps"\n'
    (draft,) = drafts(lines({"steps": [{"n": "a"}, 7]}, {"other": 1}), mapping)
    assert draft.file_gaps == {"mapped.unreadable_record": 2}
    assert draft.steps.name == ["a"]


CSV_ROWS = [["id", "parent", "name", "ok", "ms"], ["1", "", 'a "q", b', "true", "1"],
            ["2", "1", "two\nlines; x", "false", "2.5"]]  # fmt: skip


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_csv_in_every_dialect(delimiter: str, mark: bytes, quoting: Any, ending: str) -> None:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, quoting=quoting, lineterminator=ending).writerows(
        CSV_ROWS
    )
    trace = read(mark + text.getvalue().encode())
    assert [s.name for s in trace.steps] == [row[2] for row in CSV_ROWS[1:]]
    assert [s.duration_ns for s in trace.steps] == [1e6, 2.5e6]


def test_a_delimiter_of_ones_own() -> None:
    mapping = fields(name="n", model="m") + '[source]\ndelimiter = "^"\n'
    assert first(b"n^m\na,b^c\n", mapping).name == "a,b"


def test_ragged_rows_are_counted() -> None:
    data = b"id,parent,name,ok,ms\n1,,a,true,1\n2,1,b\n3,1,c,true,2,surplus\n"
    trace = read(data)
    assert [s.name for s in trace.steps] == ["a", "b", "c"]
    assert gaps(trace) == {"mapped.missing_cells": 1, "mapped.extra_cells": 1}
    with pytest.raises(StrictError, match=r"^log\.x: line 4: .*mapped\.extra_cells"):
        read(data, strict=True)


@pytest.mark.parametrize("broken", [b'2,1,"never closed,true,1', b'2,1,"he "said" it",true,1'])
def test_a_row_with_wrong_quotes_costs_itself(broken: bytes) -> None:
    rows = b"1,,a,true,1\n" + broken + b'\n3,1,c,false,2\n4,1,"d",true,2\n'
    (draft,) = drafts(b"id,parent,name,ok,ms\n" + rows, SIMPLE)
    assert draft.steps.name == ["a", "c", "d"]
    assert draft.file_gaps == {"mapped.unreadable_record": 1}


def test_header_names_that_repeat_or_are_blank() -> None:
    data = b"name,,name\na,b,c\n"
    mapping = fields(name="name", agent="column 2", model="name~2")
    found = first(data, mapping)
    assert (found.name, found.agent, found.model) == ("a", "b", "c")


def test_texts_that_stand_for_nothing() -> None:
    data = b"name,model,err\na,None ,NULL\nb,m,x\n"
    mapping = fields(name="name", model="model", error_message="err")
    one, _ = read(data, mapping + '[source]\nnull = ["None", "NULL"]\n').steps
    assert (one.model, one.status) == (None, "unset")
    one, _ = read(data, mapping).steps
    assert (one.model, one.error_message) == ("None ", "NULL")


def test_bytes_that_are_no_utf8_are_replaced_and_counted() -> None:
    (draft,) = drafts(b"name\nb\xffd\n", fields(name="name"))
    assert draft.steps.name == ["b\ufffdd"]
    assert draft.file_gaps == {"text.invalid_utf8": 1}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "the file is empty"),
        (b" \n\n", "the file is empty"),
        (b"\xff\xfen\0a\0", "no text in UTF-8"),
        (b"name,id\n", "holds no record"),
        (b"[]", "holds no record"),
        (b"a,b\n1,2\n", "has none of the columns of the mapping (it has a, b)"),
        (b'{"a": 1}\n{"b": 2}\n', "has none of the columns of the mapping (it has a, b)"),
        (b'{"a": 1}\n' * 15 + b"garbage\n", "has none of the columns of the mapping (it has a)"),
        (b"plain text\n", "has none of the columns"),
        (b"id,n\xfcme\n1,a\n", "no text in UTF-8; save it as UTF-8"),
        (b"\0\1\2", "no text in UTF-8"),
    ],
)
def test_a_file_that_the_mapping_does_not_fit(data: bytes, reason: str) -> None:
    with pytest.raises(UnknownFormatError) as raised:
        drafts(data, fields(name="name", step_id="id"))
    assert str(raised.value).startswith(f"log.x: {reason}")
    assert "\n" not in str(raised.value)


def test_a_line_that_is_no_json_is_named_by_one_place() -> None:
    with pytest.raises(InputError, match=r"^log\.x: line 2, column 6: not JSON: "):
        drafts(b'{}\n{"a":}\n', fields(name="name"))
    (draft,) = drafts(lines({"name": "a"}) + b"garbage\n", fields(name="name"))
    assert draft.file_gaps == {"mapped.unreadable_record": 1}
    with pytest.raises(StrictError, match=r"^log\.x: line 2, column 1: not JSON"):
        drafts(lines({"name": "a"}) + b"garbage\n", fields(name="name"), strict=True)


def test_records_without_any_value_are_no_steps() -> None:
    (draft,) = drafts(lines({"meta": 1}, {"name": "a", "id": 1}, {"name": "", "id": None}), SIMPLE)
    assert draft.steps.name == ["a"]
    assert draft.file_gaps["mapped.empty_record"] == 2


@pytest.mark.parametrize("data", [b"name\n" + b"a" * 99, b'name\n"' + b"a\n" * 50, lines({"name":
                         "a" * 99})])  # fmt: skip
def test_a_record_over_the_limit_is_refused(data: bytes) -> None:
    options = ReadOptions(mapping=parse_map(fields(name="name"), "m"))
    with pytest.raises(RecordLimitError, match="TRACEGRAPH_MAX_RECORD_BYTES"):
        list(MappedAdapter().read([Source("log.x", data, 64)], options))
    list(MappedAdapter().read([Source("log.x", b"name\n" + b"abcdef\n" * 99, 64)], options))


def test_without_a_mapping_there_is_nothing_to_read_by() -> None:
    assert not MappedAdapter().sniff(Source("x", lines({"id": 1, "name": "a"})))
    with pytest.raises(UsageError, match="--map"):
        list(MappedAdapter().read([Source("x", b"{}")], ReadOptions()))


def test_every_column_that_is_not_used_is_named() -> None:
    rows = [
        {"id": 1, "name": "a", "note": 1, "usage": {"in": 1, "cached": 2, "x": {"y": 1}}},
        {"id": 2, "name": "b", "more.dots": 1, "usage": {"in": 1, "late": 1}, "note": 2},
    ]
    found = left(lines(*rows), fields(step_id="id", name="name", tokens_prompt="usage.in"))
    assert found.columns == ("note", "usage.cached", "usage.x", '"more.dots"', "usage.late")
    assert not found.more


def test_columns_without_end_are_listed_up_to_a_bound() -> None:
    row = {"name": "a"} | {f"key {n}": n for n in range(5_000)}
    found = left(lines(row, row), fields(name="name"))
    assert (len(found.columns), found.more) == (1_000, True)


def test_a_column_that_no_record_has_is_named() -> None:
    data = lines({"name": "a", "ok": True})
    (draft,) = drafts(data, SIMPLE, strict=True)
    assert draft.file_gaps == {"mapped.absent_column": 3}
    found = left(data).values
    assert [(item.field, item.code, item.place) for item in found] == [
        ("step_id", "mapped.absent_column", ""),
        ("parent", "mapped.absent_column", ""),
        ("duration", "mapped.absent_column", ""),
    ]


def test_values_that_cannot_be_used_are_counted_and_placed_and_never_shown() -> None:
    rows = [{"id": n, "ok": w, "name": "x", "parent": None, "ms": 1} for n, w in
            enumerate(["top secret", True, "another secret", 5])]  # fmt: skip
    found = left(lines(*rows))
    (item,) = found.values
    assert (item.code, item.count, item.place) == ("mapped.unknown_status", 3, "line 1")
    assert "secret" not in repr(found)


KEYS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=6).filter(
    lambda key: key.strip() == key and bool(key) and not key.startswith("column ")
)
WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(KEYS, min_size=3, max_size=3, unique=True),
    st.lists(st.tuples(WORDS, st.booleans(), st.integers(0, 10**6)), min_size=1, max_size=8),
    st.lists(st.one_of(st.none(), st.integers(0, 9)), min_size=8, max_size=8),
)
def test_any_records_come_through_any_names_in_json_and_csv(
    keys: list[str], records: list[tuple[str, bool, int]], parents: list[int | None]
) -> None:
    """What goes in comes out, whatever the columns are called and however it is written."""
    name, ok, tokens = (path_text((key,)) for key in keys)
    taken = set(keys)
    own, up = (next(f"{n}{i}" for i in range(9) if f"{n}{i}" not in taken) for n in ("id", "up"))
    mapping = fields(step_id=own, parent=up, name=name, status=ok, tokens_total=tokens)
    mapping += "[status]\nok = [true]\nerror = [false]\n"
    rows = [
        {own: n, up: parents[n], keys[0]: text, keys[1]: is_ok, keys[2]: count}
        for n, (text, is_ok, count) in enumerate(records)
    ]
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([own, up, *keys])
    writer.writerows([["" if v is None else v for v in row.values()] for row in rows])
    found = [_traces(data, mapping) for data in (lines(*rows), text.getvalue().encode())]
    if any(word != word.strip() for word, _, _ in records):
        found = found[:1]  # blanks around a cell are no part of it in every dialect of CSV
    for trace in found:
        steps = {s.step_id: s for s in trace.steps}
        assert steps.keys() == {str(n) for n in range(len(rows))}
        for n, (word, is_ok, count) in enumerate(records):
            assert steps[str(n)].name == (word if word.strip() else None)
            assert steps[str(n)].status == ("ok" if is_ok else "error")
            assert steps[str(n)].tokens_total == count
        named = [(p, n) for n, p in enumerate(parents[: len(rows)]) if p is not None]
        here = {(str(p), str(n)) for p, n in named if p != n and p < len(rows)}
        assert edges(trace, "span_parent") == here
        lost = Counter("self" if p == n else "missing" for p, n in named if p == n or
                       p >= len(rows))  # fmt: skip
        found_gaps = gaps(trace)
        assert found_gaps.get("mapped.self_parent", 0) == lost["self"]
        assert found_gaps.get("mapped.missing_parent", 0) == lost["missing"]


def _traces(data: bytes, mapping: str) -> Trace:
    (draft,) = drafts(data, mapping)
    (trace,) = iterate(seal(draft))
    return trace


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_csv_file_that_is_damaged_is_read_or_refused(data: st.DataObject) -> None:
    whole = bytearray(fixture("mapped/made_all.csv").read_bytes())
    for _ in range(data.draw(st.integers(0, 4))):
        at = data.draw(st.integers(0, len(whole) - 1))
        whole[at] = data.draw(st.sampled_from(list(b'\0\xff"\n\r;,{}[]0')))
    cut = bytes(whole[: data.draw(st.integers(0, len(whole)))])
    try:
        found = list(MappedAdapter().read([Source("x", cut)], ReadOptions(True, mapping=MADE)))
    except InputError as error:
        assert str(error).startswith("x") and "\n" not in str(error)
        return
    for draft in found:
        for trace in iterate(seal(draft)):
            ids = {s.step_id for s in trace.steps}
            assert len(ids) == len(trace)
            assert all({c.effect, c.cause} <= ids for c in trace.causes)


def test_whole_rows_before_a_cut_are_read_as_if_nothing_came_after() -> None:
    data = fixture("mapped/made_all.csv").read_bytes()
    starts = [at + 1 for at, byte in enumerate(data) if byte == ord("\n")]
    for end in range(starts[1], len(data), 7):
        kept = data[: max(start for start in starts if start <= end)]
        assert _made_ids(kept) <= _made_ids(data[:end])


def _made_ids(data: bytes) -> set[str]:
    read = MappedAdapter().read([Source("x", data)], ReadOptions(mapping=MADE))
    return {step_id for draft in read for step_id in draft.steps.step_id}

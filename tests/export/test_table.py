import csv
import io
import json

from tracegraph.export.table import Format, Report, Table, render

_ROWS = [("a|b\x00", None, 1.5, True), ("日本", "x\ny", 20, ["p", None])]


def _report() -> Report:
    columns = ("name", "note", "n", "more")
    items = [dict(zip(columns, row, strict=True)) for row in _ROWS]
    return Report(
        "thing", 1, lambda: {"items": items}, lambda: items, lambda: Table(columns, iter(_ROWS))
    )


def _text(form: Format) -> str:
    return "".join(render(_report(), form))


def test_a_plain_table_is_aligned_without_boxes() -> None:
    assert _text(Format.TABLE).splitlines() == [
        "name     note  n    more",
        "a|b\\x00        1.5  true",
        '日本     x\\ny  20   ["p", null]',
    ]


def test_csv_reads_back_with_a_row_a_line() -> None:
    text = _text(Format.CSV)
    assert text.count("\n") == 3
    assert list(csv.reader(io.StringIO(text))) == [
        ["name", "note", "n", "more"],
        ["a|b\\x00", "", "1.5", "true"],
        ["日本", "x\\ny", "20", '["p", null]'],
    ]


def test_markdown_keeps_its_columns() -> None:
    rows = _text(Format.MD).splitlines()
    assert rows[0] == "| name | note | n | more |"
    assert rows[1] == "| --- | --- | --- | --- |"
    assert rows[2].startswith("| a\\|b\\\\x00 |  | 1.5 |")
    assert len(rows) == 4


def test_json_and_json_lines_keep_the_values() -> None:
    assert json.loads(_text(Format.JSON))["items"][1]["note"] == "x\ny"
    rows = [json.loads(line) for line in _text(Format.JSONL).splitlines()]
    assert rows[0] == {"name": "a|b\x00", "note": None, "n": 1.5, "more": True}


def test_a_table_without_rows_still_says_its_columns() -> None:
    report = Report("thing", 1, dict, list, lambda: Table(("a", "b"), ()))
    assert "".join(render(report, Format.TABLE)) == "a  b\n"
    assert "".join(render(report, Format.CSV)) == "a,b\n"

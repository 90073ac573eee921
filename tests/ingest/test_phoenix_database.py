"""Databases of Phoenix servers that are damaged, large or in use."""

import json
import tracemalloc
from contextlib import closing
from pathlib import Path

import pytest

from otlp_data import by_number
from phoenix_data import MADE, database, made_database, read
from trace_view import gaps
from tracegraph.errors import InputError, StrictError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.phoenix.adapter import PhoenixAdapter
from tracegraph.ingest.source import Source


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE spans SET attributes = 'no JSON' WHERE span_id = '000000000000000a';",
        "UPDATE spans SET attributes = x'ff00' WHERE span_id = '000000000000000a';",
        "UPDATE spans SET events = '{}' WHERE span_id = '000000000000000a';",
    ],
)
def test_a_damaged_row_costs_what_it_holds(statement: str, tmp_path: Path) -> None:
    path = made_database(tmp_path / "phoenix.db", statement)
    before = path.read_bytes()
    trace = {t.trace_id: t for t in read(path)}[MADE]
    assert gaps(trace)["phoenix.unreadable_field"] == 1
    assert len(trace) == 11
    assert path.read_bytes() == before
    with pytest.raises(StrictError, match=r"^phoenix\.db: .*(unreadable_field|invalid_utf8)"):
        read(path, strict=True)


def test_columns_of_the_wrong_type(tmp_path: Path) -> None:
    path = made_database(
        tmp_path / "phoenix.db",
        "UPDATE spans SET span_id = 7 WHERE span_id = '0000000000000008';",
        "UPDATE spans SET name = x'61ff', start_time = 5.5 WHERE span_id = '000000000000000a';",
        "UPDATE traces SET trace_id = x'ff' WHERE id = 2;",
        "UPDATE span_annotations SET score = 'high';",
    )
    found = read(path)
    assert len(found) == 5
    trace = {t.trace_id: t for t in found}[MADE]
    assert by_number(trace)[10].name == "a\ufffd"
    assert gaps(trace)["phoenix.unreadable_field"] >= 1


def test_a_cut_database_is_refused_or_read_in_part(tmp_path: Path) -> None:
    path = tmp_path / "phoenix.db"
    with closing(database(path)) as connection:
        connection.execute("VACUUM")
    data = path.read_bytes()
    for size in range(0, len(data), len(data) // 17):
        path.write_bytes(data[:size] + b"\0" * (len(data) - size))
        source = Source.open(path, "phoenix.db")
        if not PhoenixAdapter().sniff(source):
            continue
        try:
            found = read(source)
        except InputError as error:
            assert str(error).startswith("phoenix.db: ")
            assert "\n" not in str(error)
        else:
            assert all(len(trace) for trace in found)


def test_memory_of_a_database_is_that_of_its_largest_trace(tmp_path: Path) -> None:
    path = tmp_path / "phoenix.db"
    body = json.dumps({"input": {"value": "x" * 100_000}})
    with closing(database(path)) as connection:
        connection.execute("DELETE FROM spans")
        row = connection.execute("SELECT * FROM traces WHERE id = 1").fetchone()
        for n in range(200):
            connection.execute(
                "INSERT INTO traces VALUES (?, ?, ?, ?, ?, ?)",
                (1000 + n, row[1], f"{n + 1:032x}", *row[3:]),
            )
            connection.execute(
                "INSERT INTO spans VALUES (?, ?, ?, NULL, 'x', 'CHAIN', ?, ?, ?, '[]', 'OK', '', "
                "0, 0, 0, NULL, NULL)",
                (n + 1, 1000 + n, f"{n + 1:016x}", row[3], row[4], body),
            )
        connection.commit()
    source = Source.open(path, "phoenix.db")
    assert path.stat().st_size > 20_000_000
    tracemalloc.start()
    count = sum(len(d.steps.step_id) for d in PhoenixAdapter().read([source], ReadOptions()))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 200
    assert peak < 4_000_000


def test_a_locked_database_is_read(tmp_path: Path) -> None:
    path = tmp_path / "phoenix.db"
    with closing(database(path, wal=True)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("DELETE FROM spans")
        assert sum(len(trace) for trace in read(path)) == 53  # what is not committed is not there
        connection.rollback()

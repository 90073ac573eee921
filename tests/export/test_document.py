import json
from collections.abc import Iterator

import pytest

from tracegraph.export.document import document, lines, milliseconds, timestamp, to_json


def test_a_document_names_its_contract_first() -> None:
    text = "".join(document("thing", 3, {"count": 2, "items": iter([1, 2])}))
    assert list(json.loads(text)) == ["kind", "schema_version", "count", "items"]
    assert json.loads(text)["kind"] == "tracegraph.thing"
    assert text.endswith("}\n")


def test_iterators_are_written_while_they_are_read() -> None:
    read: list[int] = []

    def items() -> Iterator[int]:
        for number in range(3):
            read.append(number)
            yield number

    chunks = document("thing", 1, {"items": items()})
    seen = ""
    while "\n    0" not in seen:
        seen += next(chunks)
    assert read == [0]
    assert json.loads(seen + "".join(chunks))["items"] == [0, 1, 2]


@pytest.mark.parametrize("items", [[], iter(())])
def test_an_empty_list_is_an_empty_list(items: object) -> None:
    assert json.loads("".join(document("thing", 1, {"items": items})))["items"] == []


@pytest.mark.parametrize("text", ["\x7f\x9b", "\u2028", "\ud800", "\x00\n", 'quote " back \\'])
def test_json_of_any_text_is_one_visible_line_that_reads_back(text: str) -> None:
    written = to_json(text)
    assert written.isprintable()
    written.encode("utf-8")
    assert json.loads(written) == text


def test_json_has_no_nan() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        to_json(float("nan"))


def test_json_lines_hold_one_object_a_line() -> None:
    text = "".join(lines([{"a": "x\ny"}, {"a": None}]))
    assert [json.loads(line) for line in text.splitlines()] == [{"a": "x\ny"}, {"a": None}]


def test_times_keep_their_nanoseconds() -> None:
    assert timestamp(1_700_000_000_123_456_789) == "2023-11-14T22:13:20.123456789Z"
    assert timestamp(0) == "1970-01-01T00:00:00.000000000Z"
    assert timestamp(None) is None
    assert milliseconds(1_500_000) == 1.5
    assert milliseconds(None) is None

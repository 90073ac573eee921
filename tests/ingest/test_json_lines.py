import pytest

from tracegraph.ingest.json_lines import is_json_lines
from tracegraph.ingest.source import Source

RECORD = b'{"a": {"b": 1}}'


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (RECORD + b"\n" + RECORD, True),
        (b"\n \n" + RECORD + b"\n" + RECORD, True),
        (b"\xef\xbb\xbf" + RECORD + b"\r\n" + RECORD + b"\r\n", True),
        (b'1}, "torn": 2}\n' + RECORD + b"\n" + RECORD, True),
        (RECORD + b"\n" + b'{"torn": ', True),
        (b'{"half": "\\ud800"}\n' + RECORD, True),
        (RECORD, False),
        (RECORD + b"\n\n", False),
        (b"[\n" + RECORD + b"\n]", False),
        (b'{"children": [\n' + RECORD + b"\n]}", False),
        (b'{"one": {}\n, "two": 2}', False),
        (b'{\n  "pretty": 1\n}\n', False),
        (b"", False),
    ],
)
def test_lines_are_told_from_a_document(data: bytes, expected: bool) -> None:
    assert is_json_lines(Source("f", data)) == expected


def test_a_file_over_the_limit_whose_first_line_was_torn_off_is_lines() -> None:
    data = b"torn}\n" + RECORD + b"\n" + RECORD
    assert is_json_lines(Source("f", data, limit=20))

"""A file is told by its content. That no second adapter takes it is in test_every_adapter.py."""

import pytest

from every_format import PLACES, files_of
from tracegraph.errors import UnknownFormatError
from tracegraph.ingest.registry import MAPPED, detect
from tracegraph.ingest.source import Source


@pytest.mark.parametrize("name", [name for name in PLACES if name != MAPPED])
def test_files_of_a_format_are_told(name: str) -> None:
    assert {path: detect(Source.open(path, path.name)).name for path in files_of(name)} == (
        dict.fromkeys(files_of(name), name)
    )


def test_logs_of_ones_own_are_told_by_a_mapping_only() -> None:
    for path in files_of(MAPPED):
        with pytest.raises(UnknownFormatError, match="--map-template"):
            detect(Source.open(path, path.name))


@pytest.mark.parametrize("data", [b"", b" \n", b"hello", b"{}", b"[]", b'{"a": 1}\n', b"\x00\xff"])
def test_other_content_is_taken_by_none(data: bytes) -> None:
    with pytest.raises(UnknownFormatError, match=r"^x\.json: "):
        detect(Source("x.json", data))

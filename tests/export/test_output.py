import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tracegraph.errors import UsageError
from tracegraph.export.output import write_file


def _failing() -> Iterator[str]:
    yield "half"
    raise KeyError("the rest")


def test_a_file_is_written_and_replaced_as_a_whole(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    write_file(target, ["one ", "日本\n"])
    assert target.read_bytes() == "one 日本\n".encode()
    target.chmod(0o600)
    write_file(target, ["two"])
    assert target.read_text() == "two"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["out.json"]


def test_a_failure_on_the_way_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    target.write_text("old")
    with pytest.raises(KeyError):
        write_file(target, _failing())
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.json"]


def test_an_input_is_never_overwritten(tmp_path: Path) -> None:
    source = tmp_path / "trace.json"
    source.write_text("trace")
    alias = tmp_path / "alias.json"
    alias.symlink_to(source)
    for output in (source, alias, tmp_path / "." / "trace.json"):
        with pytest.raises(UsageError, match="is an input"):
            write_file(output, ["new"], [tmp_path / "gone.json", source])
    assert source.read_text() == "trace"


def test_a_link_keeps_pointing_to_the_file_that_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "out.json"
    link.symlink_to(tmp_path / "real" / "out.json")
    write_file(link, ["text"])
    assert link.is_symlink()
    assert (tmp_path / "real" / "out.json").read_text() == "text"


def test_what_cannot_be_written_is_said_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a folder"):
        write_file(tmp_path, ["text"])
    with pytest.raises(UsageError, match=r"missing/out\.json: cannot be written: No such file"):
        write_file(tmp_path / "missing" / "out.json", ["text"])


def test_a_device_is_written_through() -> None:
    write_file(Path(os.devnull), ["text"])
    assert not Path(os.devnull).is_file()


def test_a_pipe_without_a_path_is_written_through() -> None:
    """What the shell writes for ``>(...)``, and what /dev/stdout is in a pipe."""
    read, write = os.pipe()
    with os.fdopen(read, encoding="utf-8") as piped:
        try:
            write_file(Path(f"/dev/fd/{write}"), ["one ", "two"])
        finally:
            os.close(write)
        assert piped.read() == "one two"


def test_a_fresh_file_replaces_nothing(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    write_file(target, ["one"], fresh=True)
    assert target.read_text() == "one"
    for _ in range(2):
        with pytest.raises(UsageError, match=r"out\.json: is there already"):
            write_file(target, ["two"], fresh=True)
        assert target.read_text() == "one"
    assert os.listdir(tmp_path) == ["out.json"]
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="is there already"):
        write_file(link, ["two"], fresh=True)
    assert not (tmp_path / "nowhere").exists()


def test_a_file_that_appears_meanwhile_is_not_replaced_either(tmp_path: Path) -> None:
    target = tmp_path / "out.json"

    def text() -> Iterator[str]:
        target.write_text("another's")
        yield "mine"

    with pytest.raises(UsageError, match="is there already"):
        write_file(target, text(), fresh=True)
    assert target.read_text() == "another's"
    assert os.listdir(tmp_path) == ["out.json"]

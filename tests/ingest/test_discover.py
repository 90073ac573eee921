"""PATHS lead to the files that people mean, and what is passed over is said."""

import os
from pathlib import Path

import pytest

from tracegraph.errors import InputError
from tracegraph.ingest.discover import Discovery, discover


def _make(root: Path, *names: str) -> Path:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    return root


def _names(found: Discovery) -> list[str]:
    return [file.name for file in found.files]


def _passed(found: Discovery) -> dict[str, str]:
    return {item.name: item.reason.split(";")[0].split(":")[0] for item in found.passed}


def test_a_folder_is_read_recursively_by_name(tmp_path: Path) -> None:
    found = discover([_make(tmp_path, "b.json", "a/z.json", "a/b/c.json")])
    assert _names(found) == ["a/b/c.json", "a/z.json", "b.json"]
    assert not any(file.named for file in found.files)
    assert found.roots == (str(tmp_path.resolve()),)


def test_a_named_file_is_known_by_its_name(tmp_path: Path) -> None:
    _make(tmp_path, "a.json")
    found = discover([tmp_path / "a.json"])
    assert [(file.name, file.named, file.stream) for file in found.files] == [
        ("a.json", True, False)
    ]


def test_what_is_not_read_is_said(tmp_path: Path) -> None:
    _make(tmp_path, "a.json", ".hidden", ".git/b.json", "corpus/corpus.json", "corpus/segments/0/x")
    _make(tmp_path / "other", "corpus.json")  # just a file of that name
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "linked").symlink_to(tmp_path / "other")
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    found = discover([tmp_path])
    assert _names(found) == ["a.json", "other/corpus.json"]
    assert _passed(found) == {
        ".git": "hidden",
        ".hidden": "hidden",
        "corpus": "a corpus",
        "gone": "cannot be read",
        "linked": "a link to a folder",
        "pipe": "not a regular file",
    }
    assert [item.name for item in found.passed if item.lost] == ["gone"]


def test_what_is_hidden_is_read_when_it_is_named(tmp_path: Path) -> None:
    _make(tmp_path, ".traces/.a.json", ".traces/b.json")
    assert _names(discover([tmp_path / ".traces" / ".a.json"])) == [".a.json"]
    assert _names(discover([tmp_path / ".traces"])) == ["b.json"]


def test_a_file_is_read_once(tmp_path: Path) -> None:
    _make(tmp_path, "a.json")
    (tmp_path / "b.json").symlink_to(tmp_path / "a.json")
    found = discover([tmp_path, tmp_path / "a.json", tmp_path])
    assert [(file.name, file.named) for file in found.files] == [("a.json", True)]


def test_equal_names_get_as_many_folders_as_tell_them_apart(tmp_path: Path) -> None:
    _make(tmp_path, "p/run/a.json", "q/run/a.json", "q/run/b.json")
    found = discover([tmp_path / "p" / "run", tmp_path / "q" / "run"])
    assert _names(found) == ["b.json", "p/run/a.json", "q/run/a.json"]


def test_the_order_of_paths_does_not_matter(tmp_path: Path) -> None:
    _make(tmp_path, "p/a.json", "q/a.json", "q/b.json")
    paths = [tmp_path / "p", tmp_path / "q"]
    first, second = discover(paths), discover(paths[::-1])
    assert (first.roots, first.files) == (second.roots, second.files)


def test_globs_are_expanded_and_must_match(tmp_path: Path) -> None:
    _make(tmp_path, "x/a.json", "x/b.txt", "y/a.json", "y/sub.json/c.txt")
    found = discover([f"{tmp_path}/**/*.json"])
    assert _names(found) == ["x/a.json", "y/a.json", "y/sub.json/c.txt"]
    assert not any(file.named for file in found.files)
    with pytest.raises(InputError, match=r"\*\.nope: no file matches"):
        discover([f"{tmp_path}/*.nope"])


def test_a_file_whose_name_looks_like_a_glob(tmp_path: Path) -> None:
    _make(tmp_path, "a[1].json", "a1.json")
    assert _names(discover([tmp_path / "a[1].json"])) == ["a[1].json"]


def test_standard_input_and_pipes_are_streams(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    found = discover(["-", tmp_path / "pipe"])
    assert [(file.name, file.stream) for file in found.files] == [("pipe", True), ("stdin", True)]


def test_corpora_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "corpus.json").write_text('{"kind":"tracegraph.corpus"}')
    found = discover([tmp_path / "c"])
    assert found.corpora == ((tmp_path / "c").resolve(),)
    assert found.files == ()
    _make(tmp_path, "a.json")
    assert _passed(discover([tmp_path])) == {"c": "a corpus"}
    assert discover([tmp_path], ignore=tmp_path / "c").passed == ()


def test_what_is_named_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing\.json: cannot be read: No such file"):
        discover([tmp_path / "nothing.json"])


def _made_of_bytes(folder: Path, name: bytes) -> Path:
    """Make a file whose name is no text, where the file system takes one."""
    path = folder / os.fsdecode(name)
    try:
        path.write_text("x")
    except OSError:
        pytest.skip("the file system takes only names that are text")
    return path


def test_bytes_that_are_no_text_are_written_out_in_names(tmp_path: Path) -> None:
    path = _made_of_bytes(tmp_path, b"\xff\xfe.json")
    _made_of_bytes(tmp_path, b".\xff")
    _make(tmp_path, "é☃.json")
    found = discover([tmp_path])
    assert _names(found) == [r"\xff\xfe.json", "é☃.json"]
    assert [item.name for item in found.passed] == [r".\xff"]
    assert found.files[0].path == path.resolve()
    assert _names(discover([path])) == [r"\xff\xfe.json"]


def test_a_circle_of_links_is_said_and_stops_nothing(tmp_path: Path) -> None:
    _make(tmp_path, "a.json")
    (tmp_path / "b").symlink_to("b")
    (tmp_path / "c").symlink_to("d")
    (tmp_path / "d").symlink_to("c")
    found = discover([tmp_path])
    assert _names(found) == ["a.json"]
    assert [item.name for item in found.passed if item.lost] == ["b", "c", "d"]
    assert _names(discover([f"{tmp_path}/*"], ignore=tmp_path / "b")) == ["a.json"]
    with pytest.raises(InputError, match="b: cannot be read: "):
        discover([tmp_path / "b"])


def test_an_empty_path_is_not_the_folder_one_is_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(_make(tmp_path, "a.json"))
    with pytest.raises(InputError, match="an empty path"):
        discover([""])
    assert _names(discover(["."])) == ["a.json"]


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="the system has no such device")
def test_a_device_without_an_end_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/dev/zero")
    for path in (Path("/dev/zero"), tmp_path / "link"):
        with pytest.raises(InputError, match=f"{path}: is a device"):
            discover([path])
    assert [file.stream for file in discover([os.devnull]).files] == [True]

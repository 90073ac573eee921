"""The name of a shell command: of any text, in linear time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracegraph.ingest.swe_agent.command import command_name


@pytest.mark.parametrize(
    ("action", "name"),
    [
        ("open src/a.py 12\n", "open"),
        ("edit 1:1\nimport a; b | c\nend_of_edit", "edit"),
        ('python -c "print(1); print(2)"', "python"),
        ("echo 'two\nlines'", "echo"),
        ("cat a | grep b", None),
        ("cd a && ls", None),
        ("(ls)", None),
        ("X=1 make", None),
        ("./run.sh", None),
        ("ls > out", "ls"),
        ('echo \'a; b\' \\| "c & \\" d" e', "echo"),
        ("echo 'a'; b", None),
        ('echo "a\\\\" | b', None),
        ('echo "goes on | here', "echo"),
        ("echo 'goes on | here\\", "echo"),
        ("c'at' a", None),
        ("a" * 64, "a" * 64),
        ("a" * 65 + " b", None),
        ("", None),
        ("# why\nls", None),
    ],
)
def test_the_name_of_a_command(action: str, name: str | None) -> None:
    assert command_name(action) == name


@given(st.text())
def test_any_text_has_a_name_or_none(text: str) -> None:
    name = command_name(text)
    assert name is None or text.strip().startswith((name, "'", '"', "\\", *name))


def test_a_command_of_millions_of_characters_has_a_name() -> None:
    for text in ("a", "'", '"', "\\", '\\"', "' ", "|\\"):
        assert command_name("echo '" + text * 3_000_000) in ("echo", None)
        assert command_name('echo "' + text * 3_000_000) in ("echo", None)

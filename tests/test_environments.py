"""The tests' own environments: built once, keyed by what they hold, a clear reason where not."""

from pathlib import Path

import pytest

import environments


@pytest.fixture(autouse=True)
def _folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(environments.FOLDER_VARIABLE, str(tmp_path / "environments"))
    monkeypatch.delenv(environments.REQUIRE_VARIABLE, raising=False)


def test_an_environment_is_built_once_for_what_it_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requirements = tmp_path / "example.txt"
    requirements.write_text("# nothing\n")
    python = environments.python_of(requirements)
    built = python.stat().st_mtime_ns
    assert environments.python_of(requirements) == python
    assert python.stat().st_mtime_ns == built

    # Other requirements are another environment, and what pip cannot install is said.
    requirements.write_text(f"{tmp_path / 'no-such-project'}\n")
    with pytest.raises(pytest.skip.Exception, match=r"example-.* cannot be built: ERROR.*"):
        environments.python_of(requirements)
    monkeypatch.setenv(environments.REQUIRE_VARIABLE, "1")
    with pytest.raises(pytest.fail.Exception, match="cannot be built"):
        environments.python_of(requirements)

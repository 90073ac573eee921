"""The engine is chosen once, by name, and its absence is told in one line."""

import os
import subprocess
import sys

import pytest

from shared_data import ROOT
from tracegraph.errors import QueryError
from tracegraph.graph.engine import ENGINE_VARIABLE, engine_name, reason


def test_kuzu_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ENGINE_VARIABLE, raising=False)
    assert engine_name() == "kuzu"
    monkeypatch.setenv(ENGINE_VARIABLE, " Ladybug ")
    assert engine_name() == "ladybug"


def test_unknown_engine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENGINE_VARIABLE, "neo4j")
    with pytest.raises(QueryError, match=r"TRACEGRAPH_ENGINE=neo4j: .*kuzu and ladybug"):
        engine_name()


@pytest.mark.parametrize("name", ["kuzu", "ladybug"])
def test_missing_engine_is_one_line_with_the_remedy(name: str) -> None:
    """Another process, since the choice holds for the whole of one; a finder hides the engine."""
    code = (
        f"import sys; sys.modules[{name!r}] = None\n"
        "from tracegraph.graph.engine import engine\n"
        "from tracegraph.errors import QueryError\n"
        "try: engine()\n"
        "except QueryError as error: print(error)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "engine"), ENGINE_VARIABLE: name}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    (line,) = done.stdout.splitlines()
    assert f"the graph engine {name} cannot be loaded" in line
    assert "pip install" in line


def test_message_of_the_engine_becomes_one_line_with_the_place_first() -> None:
    error = RuntimeError('Parser exception: bad <x\n y> (line: 2, offset: 1)\n" y"\n  ^')
    assert reason(error) == "line 2, column 2: Parser exception: bad <x y>"
    assert reason(RuntimeError("one\n two\n")) == "one two"

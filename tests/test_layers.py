"""Imports go downward only (DESIGN section 2), and the command line starts without heavy ones."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from shared_data import ROOT

PACKAGE = ROOT / "engine" / "tracegraph"
LAYERS = (
    {"errors", "resources"},
    {"model"},
    {"ingest", "corpus", "graph", "pattern", "embed"},
    {"analysis"},
    {"export"},
    {"workflows"},
    {"cli"},
)
RANK = {part: rank for rank, parts in enumerate(LAYERS) for part in parts}
SIBLINGS = LAYERS[2]
FRONT_DOOR = "__init__"
HEAVY = {
    "kuzu",
    "lark",
    "networkx",
    "numpy",
    "pyarrow",
    "pydantic",
    "real_ladybug",
    "rich",
    "sentence_transformers",
    "torch",
}


def _imported(tree: ast.AST) -> Iterator[str]:
    """Yield the full name of everything that is imported, anywhere in a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports are banned"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _part(name: str) -> str | None:
    """Return the part of tracegraph that an imported name belongs to, None for other packages."""
    words = name.split(".")
    if words[0] != "tracegraph":
        return None
    return words[1] if len(words) > 1 and words[1] in RANK else FRONT_DOOR


def violations(part: str, source: str) -> list[str]:
    """Return the imports in a module of one part that do not go downward."""
    wrong = []
    for name in _imported(ast.parse(source)):
        target = _part(name)
        if target is None or target == part:
            continue
        if part == FRONT_DOOR:
            allowed = target != "cli"
        elif target == FRONT_DOOR:
            allowed = part == "cli"
        elif part in SIBLINGS and target in SIBLINGS:
            allowed = False
        else:
            allowed = RANK[target] <= RANK[part]
        if not allowed:
            wrong.append(f"{part} imports {name}")
    return wrong


def heavy_at_the_top(source: str) -> list[str]:
    """Return the heavy packages that a module imports when it is imported itself."""
    found: list[str] = []
    pending: list[ast.AST] = [ast.parse(source)]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            found += [n for n in _imported(node) if n.split(".")[0] in HEAVY]
        pending.extend(ast.iter_child_nodes(node))
    return found


def _modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def _part_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", _modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_downward_only(path: Path) -> None:
    part = _part_of(path)
    assert part in RANK or part in {FRONT_DOOR, "__main__"}, f"{part} is no known part"
    if part != "__main__":
        assert violations(part, path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "path",
    [p for p in _modules() if _part_of(p) in {"cli", FRONT_DOOR, "__main__"}],
    ids=lambda path: str(path.relative_to(PACKAGE)),
)
def test_the_command_line_imports_nothing_heavy_at_the_top(path: Path) -> None:
    assert heavy_at_the_top(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("part", "source", "legal"),
    [
        ("pattern", "from tracegraph.graph.session import GraphSession", False),
        ("pattern", "def f():\n    import tracegraph.corpus", False),
        ("model", "from tracegraph.pattern import ast", False),
        ("export", "from tracegraph import workflows", False),
        ("workflows", "from tracegraph import __version__", False),
        ("model", "import tracegraph", False),
        ("__init__", "from tracegraph.cli import main", False),
        ("pattern", "from tracegraph.pattern.ast import Node", True),
        ("workflows", "from tracegraph.export.table import Table\nimport tracegraph.graph", True),
        ("cli", "from tracegraph import __version__", True),
        ("model", "import os\nfrom tracegraph.errors import UsageError", True),
    ],
)
def test_the_test_catches_sideways_and_upward_imports(part: str, source: str, legal: bool) -> None:
    assert (violations(part, source) == []) is legal


def test_the_test_sees_heavy_imports_only_where_they_run_at_start() -> None:
    late = "def f():\n    import numpy\n"
    typed = "if TYPE_CHECKING:\n    import pyarrow\n"
    assert heavy_at_the_top(late + typed) == []
    assert heavy_at_the_top("try:\n    import numpy as np\nexcept ImportError:\n    pass") == [
        "numpy"
    ]
    assert heavy_at_the_top("class A:\n    from rich.table import Table") == ["rich.table.Table"]

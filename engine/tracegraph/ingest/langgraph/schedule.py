"""``--graph``: which tasks a compiled graph schedules at the newest checkpoint of a thread.

The one part of reading that runs code of others: it imports the module that people name, and
LangGraph's own ``get_state`` decodes the checkpoint and runs the graph's callbacks on it (no node
runs). It is given a private copy of the database to work on. Its answer belongs to that graph:
nothing in a checkpoint proves which graph wrote it, so the graph's fingerprint goes with it.
"""

import hashlib
import importlib
import importlib.util
import json
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from tracegraph.errors import InputError
from tracegraph.ingest.langgraph.history import Checkpoint, Task
from tracegraph.ingest.langgraph.ids import Proof
from tracegraph.ingest.langgraph.tasks import PACKETS
from tracegraph.ingest.losses import Losses

_INSTALL = "pip install 'tracegraph-engine[langgraph]'"


class Schedule:
    """A graph that tells what it would run next.

    Attributes:
        fingerprint: SHA-256 of the names, triggers and channels of the graph.
    """

    def __init__(self, graph: Any, saver: Any, name: str) -> None:
        self._graph = graph
        self._graph.checkpointer = saver
        self._name = name
        self.fingerprint = _fingerprint(graph)

    def tasks(self, thread: Any, last: Checkpoint, losses: Losses) -> list[Task]:
        """Return the tasks that are scheduled and of which nothing is recorded.

        Gap codes: ``langgraph.unapplied_command_goto`` (a command to go to a node is saved on the
        checkpoint and was not applied), ``langgraph.unknown_send_target`` (a packet for a node that
        the graph does not have): LangGraph leaves both out of its answer.

        Raises:
            InputError: the graph cannot read the checkpoint.
        """
        try:
            config = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
            listed = self._graph.get_state(config).tasks
        except Exception as error:  # whatever the graph's own code raises
            what = f"--graph {self._name}: cannot tell what it would run: {_one_line(error)}"
            raise InputError(what) from None
        recorded = {task.id for task in last.tasks}
        found = []
        for task in listed:
            if task.id not in recorded:
                triggers = getattr(self._graph.nodes.get(task.name), "triggers", ())
                proof = Proof(task.name, tuple(sorted(map(str, triggers))))
                if task.path and task.path[0] == "__pregel_push":
                    proof.packet = task.path[1] if isinstance(task.path[1], int) else -1
                found.append(Task(last, task.id, proof=proof))
                found[-1].record.is_scheduled = True
        unapplied = [c for c in last.from_outside if c.startswith("branch:to:") or c == PACKETS]
        if unapplied and not last.tasks:
            losses.add(
                "langgraph.unapplied_command_goto", "a command was not applied", len(unapplied)
            )
        strangers = [p.node for p in last.packets if p.node not in self._graph.nodes]
        if strangers:
            losses.add(
                "langgraph.unknown_send_target",
                f"no node {strangers[0]!r} in {self._name}",
                len(strangers),
            )
        return found


@contextmanager
def open_schedule(spec: str, database: sqlite3.Connection) -> Iterator[Schedule]:
    """Load a graph and let it look at a private copy of a database.

    Args:
        spec: ``path/to/file.py:attribute`` or ``package.module:attribute``.
        database: what is copied.

    Raises:
        InputError: LangGraph is not installed, or the graph cannot be loaded.
    """
    try:
        saver_class = importlib.import_module("langgraph.checkpoint.sqlite").SqliteSaver
    except ImportError as error:
        raise InputError(f"--graph needs LangGraph ({error}): {_INSTALL}") from None
    graph = _load(spec)
    with tempfile.TemporaryDirectory(prefix="tracegraph-") as folder:
        copy = sqlite3.connect(Path(folder) / "graph.sqlite", check_same_thread=False)
        with closing(copy):
            database.backup(copy)
            yield Schedule(graph, saver_class(copy), spec)


def _load(spec: str) -> Any:
    """Import a module and return the compiled graph in it."""
    place, colon, attribute = spec.rpartition(":")
    if not colon or not place or not attribute:
        raise InputError(f"--graph {spec}: name a graph as file.py:attribute or module:attribute")
    try:
        found = _import(place)
        for part in attribute.split("."):
            found = getattr(found, part)
        if not hasattr(found, "get_state") and not hasattr(found, "compile") and callable(found):
            found = found()
        if not hasattr(found, "get_state") and hasattr(found, "compile"):
            found = found.compile()
    except (Exception, SystemExit) as error:  # a module of others may raise anything
        raise InputError(f"--graph {spec}: cannot be loaded: {_one_line(error)}") from None
    if not hasattr(found, "get_state") or not hasattr(found, "nodes"):
        raise InputError(f"--graph {spec}: is {type(found).__name__}, not a graph of LangGraph")
    return found


def _import(place: str) -> ModuleType:
    """Import a module as Python would run it: what lies beside it can be imported, too."""
    path = Path(place)
    if path.suffix != ".py":
        with _looked_up_in(Path.cwd()):
            return importlib.import_module(place)
    if not path.is_file():
        raise FileNotFoundError(f"no file {place}")
    name = f"_tracegraph_graph_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]}"
    described = importlib.util.spec_from_file_location(name, path)
    if described is None or described.loader is None:
        raise ImportError("no Python module")
    module = importlib.util.module_from_spec(described)
    sys.modules[name] = module  # dataclasses and pickles of the module look it up
    with _looked_up_in(path.resolve().parent):
        described.loader.exec_module(module)
    return module


@contextmanager
def _looked_up_in(folder: Path) -> Iterator[None]:
    """Let modules be found in a folder first, as ``python file.py`` and ``python -m`` do."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        with suppress(ValueError):  # the module may have changed the list itself
            sys.path.remove(str(folder))


def _fingerprint(graph: Any) -> str:
    nodes = {
        str(name): {"triggers": sorted(map(str, getattr(node, "triggers", ())))}
        for name, node in graph.nodes.items()
    }
    channels = {
        str(name): type(channel).__name__
        for name, channel in getattr(graph, "channels", {}).items()
    }
    text = json.dumps({"channels": channels, "nodes": nodes}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _one_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__

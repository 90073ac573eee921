"""What a scenario is given: a database of its own, a journal, and short words for building."""

import operator
from collections.abc import Callable
from itertools import pairwise
from typing import Annotated, Any, TypedDict

from api import StateGraph, add_messages, saver_of
from journal import Journal

SCENARIOS: dict[str, Callable[["Scene"], None]] = {}


class Log(TypedDict, total=False):
    """The state of the graphs without messages: what the nodes said, in the order of applying."""

    said: Annotated[list[str], operator.add]
    item: str
    error: Any


class Chat(TypedDict, total=False):
    """The state of the graphs with messages."""

    messages: Annotated[list[Any], add_messages]
    tries: int


class Scene:
    """One scenario's run."""

    def __init__(self, path: str, name: str) -> None:
        self.path = path
        self.thread = name
        self.journal = Journal()
        self.saver = saver_of(path)

    def close(self) -> None:
        """Close the database, so that its write-ahead log is in the file."""
        self.saver.conn.close()

    def says(self, name: str, **more: Any) -> Callable[[Any], dict[str, Any]]:
        """Return a journaled node that says its name."""
        return self.journal.node(name, lambda state: {"said": [name], **more})

    def raises(self, name: str, error: Exception) -> Callable[[Any], dict[str, Any]]:
        """Return a journaled node that raises."""

        def fail(state: Any) -> dict[str, Any]:
            raise error

        return self.journal.node(name, fail)

    def chain(self, *nodes: tuple[str, Any], state: type = Log) -> StateGraph:
        """Return an uncompiled graph of nodes, one after the other."""
        graph = StateGraph(state)
        for name, function in nodes:
            graph.add_node(name, function)
        names = [name for name, _ in nodes]
        graph.set_entry_point(names[0])
        for earlier, later in pairwise(names):
            graph.add_edge(earlier, later)
        graph.set_finish_point(names[-1])
        return graph

    def config(self, thread: str | None = None, **more: Any) -> dict[str, Any]:
        """Return the configuration of a call."""
        return {"configurable": {"thread_id": thread or self.thread}, **more}

    def invoke(self, graph: Any, value: Any, config: dict[str, Any] | None = None) -> Any:
        """Call a compiled graph on the scenario's thread and write down how it ended."""
        config = config or self.config()
        thread = config["configurable"]["thread_id"]
        return self.journal.run(thread, lambda: graph.invoke(value, config))


def scenario(*needs: Any) -> Callable[[Callable[[Scene], None]], Callable[[Scene], None]]:
    """Register a scenario under its function's name where the release has what it needs."""

    def register(function: Callable[[Scene], None]) -> Callable[[Scene], None]:
        if all(need is not None for need in needs):
            SCENARIOS[function.__name__] = function
        return function

    return register

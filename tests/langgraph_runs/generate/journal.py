"""What a run saw of itself: the tests' truth about names, tasks and outcomes.

Every node function writes one line before it returns or raises, from the configuration that
langgraph gives it. Nothing of it is read from the database.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any

from langchain_core.runnables import RunnableConfig

Entry = dict[str, Any]


class Journal:
    """The node executions, tool executions and outcomes of the runs of one scenario."""

    def __init__(self) -> None:
        self.nodes: list[Entry] = []
        self.tools: list[Entry] = []
        self.runs: list[Entry] = []

    def node(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a node function that writes down each of its executions."""
        if inspect.iscoroutinefunction(function):

            async def waiting(state: Any, config: RunnableConfig) -> Any:
                try:
                    result = await function(state)
                except BaseException as error:
                    self._executed(name, config, type(error).__name__)
                    raise
                self._executed(name, config, "ok")
                return result

            return waiting

        def run(state: Any, config: RunnableConfig) -> Any:
            try:
                result = function(state)
            except BaseException as error:
                self._executed(name, config, type(error).__name__)
                raise
            self._executed(name, config, "ok")
            return result

        return run

    def _executed(self, name: str, config: RunnableConfig, outcome: str) -> None:
        configurable, metadata = config.get("configurable", {}), config.get("metadata", {})
        namespace = configurable.get("checkpoint_ns") or metadata.get("checkpoint_ns") or ""
        outer, _, own = namespace.rpartition("|")
        recorded, _, task = own.partition(":")
        self.nodes.append(
            {
                "thread": configurable.get("thread_id"),
                "node": metadata.get("langgraph_node", recorded or name),
                "task": task or None,
                "namespace": outer,
                "step": metadata.get("langgraph_step"),
                "triggers": sorted(map(str, metadata.get("langgraph_triggers") or [])),
                "outcome": outcome,
            }
        )

    def tool(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a tool function that writes down each of its executions."""

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            entry = {"tool": function.__name__, "arguments": kwargs, "outcome": "ok"}
            self.tools.append(entry)
            try:
                return function(*args, **kwargs)
            except BaseException as error:
                entry["outcome"] = type(error).__name__
                raise

        return run

    def run(self, thread: str, call: Callable[[], Any]) -> Any:
        """Make one call of a graph and write down how it ended."""
        try:
            result = call()
        except Exception as error:
            self.runs.append({"thread": thread, "outcome": type(error).__name__})
            return None
        self.runs.append({"thread": thread, "outcome": "ok"})
        return result

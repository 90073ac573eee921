"""The names of langgraph that moved between the releases whose databases the tests read."""

import inspect
import sqlite3
import warnings
from typing import Any

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode

warnings.simplefilter("ignore")  # 1.x calls create_react_agent deprecated, on every call

try:
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
except ImportError:
    from langgraph.checkpoint.aiosqlite import AsyncSqliteSaver
try:
    from langgraph.types import Send
except ImportError:
    from langgraph.constants import Send
try:
    from langgraph.types import Command, interrupt
except ImportError:
    Command = interrupt = None
try:
    from langgraph.types import RetryPolicy
except ImportError:
    from langgraph.pregel.types import RetryPolicy
try:
    from langgraph.errors import NodeInterrupt
except ImportError:
    NodeInterrupt = None
try:
    from langgraph.func import entrypoint, task
except ImportError:
    entrypoint = task = None

__all__ = [
    "END",
    "START",
    "AsyncSqliteSaver",
    "Command",
    "NodeInterrupt",
    "RetryPolicy",
    "Send",
    "StateGraph",
    "ToolNode",
    "add_messages",
    "entrypoint",
    "interrupt",
    "retry_argument",
    "saver_of",
    "takes",
    "task",
]


def saver_of(path: str) -> SqliteSaver:
    """Return a saver over a database file that is made when it is not there."""
    return SqliteSaver(sqlite3.connect(path, check_same_thread=False))


def takes(function: Any, name: str) -> bool:
    """Tell whether a function of this release has a parameter."""
    return name in inspect.signature(function).parameters


def retry_argument(policy: Any) -> dict[str, Any]:
    """Return the argument of add_node that holds a retry policy (``retry`` until 0.4)."""
    name = "retry_policy" if takes(StateGraph.add_node, "retry_policy") else "retry"
    return {name: policy}

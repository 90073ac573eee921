"""Graphs as people keep them in a file, to be named with ``--graph``.

They have the shape of those in control_flow.py and history.py. No node may run when a database is
read: one that does leaves a file.
"""

import os
from itertools import pairwise
from pathlib import Path
from typing import Any

from api import Send, StateGraph
from scenario import Log


def node(name: str) -> Any:
    def run(state: Any) -> dict[str, Any]:
        Path(os.environ["TRACEGRAPH_TEST_NODE_RAN"]).touch()
        return {"said": [name]}

    return run


def chain(*names: str) -> StateGraph:
    graph = StateGraph(Log)
    for name in names:
        graph.add_node(name, node(name))
    graph.set_entry_point(names[0])
    for earlier, later in pairwise(names):
        graph.add_edge(earlier, later)
    graph.set_finish_point(names[-1])
    return graph


line = chain("one", "two", "three").compile()
uncompiled = chain("one", "two", "three")


def made() -> StateGraph:
    """Return a graph, as langgraph.json lets a name be a function."""
    return chain("one", "two", "three")


loop = StateGraph(Log)
loop.add_node("again", node("again"))
loop.set_entry_point("again")
loop.add_edge("again", "again")


def mapping(worker: str) -> StateGraph:
    graph = StateGraph(Log)
    for name in ("plan", worker, "reduce"):
        graph.add_node(name, node(name))
    graph.set_entry_point("plan")
    graph.add_conditional_edges(
        "plan", lambda state: [Send(worker, {"item": item}) for item in "wxyz"], [worker]
    )
    graph.add_edge(worker, "reduce")
    graph.set_finish_point("reduce")
    return graph


mapped = mapping("work")
renamed = mapping("worker")
number = 7

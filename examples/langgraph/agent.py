"""The LangGraph program behind trace.db: a tool that fails, and what the graph makes of it.

    pip install langgraph langgraph-checkpoint-sqlite && python agent.py trace.db

Thread A fails and is repaired, thread B works. The state has an ``error`` channel.
"""

import sys
from typing import TypedDict

from langgraph.graph import END, START, StateGraph


class State(TypedDict, total=False):
    """What the nodes pass on."""

    question: str
    answer: str
    error: str | None


def plan(state: State) -> State:
    """Decide what to ask the tool."""
    return {"question": state["question"].strip()}


def call_tool(state: State) -> State:
    """Ask the tool; a failure goes into the error channel."""
    question = state["question"]
    if "boom" in question:
        return {"error": f"tool failed on input {question!r}"}
    return {"answer": f"all about {question}"}


def handle_error(state: State) -> State:
    """Make do without the tool."""
    return {"answer": "sorry, I could not find out", "error": None}


def respond(state: State) -> State:
    """Say the answer."""
    return {"answer": state["answer"].capitalize()}


def _has_failed(state: State) -> str:
    return "handle_error" if state.get("error") else "respond"


builder = StateGraph(State)
for node in (plan, call_tool, handle_error, respond):
    builder.add_node(node.__name__, node)
builder.add_edge(START, "plan")
builder.add_edge("plan", "call_tool")
builder.add_conditional_edges("call_tool", _has_failed, ["handle_error", "respond"])
builder.add_edge("handle_error", "respond")
builder.add_edge("respond", END)
graph = builder.compile()


if __name__ == "__main__":
    from langgraph.checkpoint.sqlite import SqliteSaver

    with SqliteSaver.from_conn_string(sys.argv[1]) as saver:
        kept = builder.compile(checkpointer=saver)
        for thread, question in (("A", "boom-please"), ("B", "the weather")):
            kept.invoke({"question": question}, {"configurable": {"thread_id": thread}})

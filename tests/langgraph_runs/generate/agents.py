"""Agents with a scripted model and real tools: ReAct by hand and prebuilt, several turns."""

import time
from typing import Any

from api import END, StateGraph, ToolNode, takes
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.prebuilt import create_react_agent
from models import ScriptedModel, asks, says
from scenario import Chat, Scene, scenario


def tools_of(scene: Scene) -> list[Any]:
    @tool
    @scene.journal.tool
    def weather(city: str) -> str:
        """Return the weather of a city."""
        if city == "Atlantis":
            time.sleep(0.1)
            raise ValueError(f"unknown city: {city}")
        return f"21 C in {city}"

    @tool
    @scene.journal.tool
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    return [weather, add]


def react(scene: Scene, model: ScriptedModel, handle: bool = True) -> Any:
    """Return the agent as people build it by hand: a model node, a ToolNode, a condition."""
    graph = StateGraph(Chat)
    agent = scene.journal.node(
        "agent", lambda state: {"messages": [model.invoke(state["messages"])]}
    )
    graph.add_node("agent", agent)
    graph.add_node("tools", ToolNode(tools_of(scene), handle_tool_errors=handle))
    graph.set_entry_point("agent")
    graph.add_conditional_edges(
        "agent",
        lambda state: "tools" if state["messages"][-1].tool_calls else END,
        ["tools", END],
    )
    graph.add_edge("tools", "agent")
    return graph.compile(checkpointer=scene.saver)


def ask(scene: Scene, agent: Any, question: str) -> None:
    scene.invoke(agent, {"messages": [HumanMessage(question)]})


OSLO = ("call_oslo", "weather", {"city": "Oslo"})
ROME = ("call_rome", "weather", {"city": "Rome"})
ATLANTIS = ("call_atlantis", "weather", {"city": "Atlantis"})
SUM = ("call_sum", "add", {"a": 2, "b": 3})
UNKNOWN = ("call_unknown", "teleport", {"to": "Mars"})


@scenario()
def react_chain(scene: Scene) -> None:
    """Two tools, one after the other."""
    model = ScriptedModel(script=[asks(OSLO), asks(SUM), says("21 and 5")])
    ask(scene, react(scene, model), "weather and sum?")


@scenario()
def react_parallel(scene: Scene) -> None:
    model = ScriptedModel(script=[asks(OSLO, ROME, SUM), says("done")])
    ask(scene, react(scene, model), "three at once?")


@scenario()
def react_handled(scene: Scene) -> None:
    """A tool raises, the tool node answers with an error message, the model asks again."""
    model = ScriptedModel(script=[asks(ATLANTIS), asks(OSLO), says("21")])
    ask(scene, react(scene, model), "weather?")


@scenario()
def react_raising(scene: Scene) -> None:
    """The one tool that was asked for raises and nothing handles it."""
    model = ScriptedModel(script=[asks(ATLANTIS)])
    ask(scene, react(scene, model, handle=False), "weather?")


@scenario()
def react_parallel_raising(scene: Scene) -> None:
    """One of three tools of one tool node raises: the answers of the others are lost with it."""
    model = ScriptedModel(script=[asks(OSLO, ATLANTIS, SUM)])
    ask(scene, react(scene, model, handle=False), "three at once?")


@scenario()
def react_unknown(scene: Scene) -> None:
    model = ScriptedModel(script=[asks(UNKNOWN), says("no such tool")])
    ask(scene, react(scene, model), "to Mars?")


@scenario()
def multi_turn(scene: Scene) -> None:
    script = [says("hello"), asks(OSLO), says("21"), asks(SUM, ROME), says("5 and 21")]
    agent = react(scene, ScriptedModel(script=script))
    for question in ("hi", "weather?", "both?"):
        ask(scene, agent, question)


@scenario()
def repeated_call_ids(scene: Scene) -> None:
    """Each turn asks under the same call id."""
    script = [asks(OSLO), says("21"), asks(("call_oslo", "weather", {"city": "Rome"})), says("21")]
    agent = react(scene, ScriptedModel(script=script))
    for question in ("Oslo?", "Rome?"):
        ask(scene, agent, question)


def prebuilt(scene: Scene, model: ScriptedModel, **more: Any) -> Any:
    if takes(create_react_agent, "version"):
        more.setdefault("version", "v2")
    return create_react_agent(model, tools_of(scene), checkpointer=scene.saver, **more)


@scenario()
def prebuilt_parallel(scene: Scene) -> None:
    """The prebuilt agent; where it can, it sends each call to a task of its own."""
    model = ScriptedModel(script=[asks(OSLO, ROME, SUM), says("done")])
    ask(scene, prebuilt(scene, model), "three at once?")


@scenario()
def prebuilt_handled(scene: Scene) -> None:
    model = ScriptedModel(script=[asks(ATLANTIS, OSLO), says("one of two")])
    agent_tools = ToolNode(tools_of(scene), handle_tool_errors=True)
    more = {"version": "v2"} if takes(create_react_agent, "version") else {}
    try:
        agent = create_react_agent(model, agent_tools, checkpointer=scene.saver, **more)
    except (TypeError, AttributeError):  # 0.1 takes no ToolNode; its own handles errors
        agent = prebuilt(scene, model)
    ask(scene, agent, "weather?")


@scenario()
def prebuilt_raising(scene: Scene) -> None:
    """One of three calls raises in a task of its own, where the release sends each to one."""
    model = ScriptedModel(script=[asks(OSLO, ATLANTIS, SUM), says("never said")])
    agent_tools = ToolNode(tools_of(scene), handle_tool_errors=False)
    more = {"version": "v2"} if takes(create_react_agent, "version") else {}
    try:
        agent = create_react_agent(model, agent_tools, checkpointer=scene.saver, **more)
    except (TypeError, AttributeError):
        agent = react(scene, model, handle=False)
    ask(scene, agent, "weather?")


@scenario()
def agent_in_one_node(scene: Scene) -> None:
    """A whole agent inside one node, without a history of its own."""
    model = ScriptedModel(script=[asks(OSLO), says("21")])
    agent = create_react_agent(model, tools_of(scene))

    def whole(state: Any) -> Any:
        known = len(state["messages"])
        answer = agent.invoke({"messages": state["messages"]}, {"configurable": {"thread_id": "x"}})
        return {"messages": answer["messages"][known:]}

    graph = scene.chain(("whole", scene.journal.node("whole", whole)), state=Chat)
    ask(scene, graph.compile(checkpointer=scene.saver), "weather?")


@scenario()
def two_agents(scene: Scene) -> None:
    """Two agents as subgraphs, one after the other, over one message list."""
    first = create_react_agent(ScriptedModel(script=[asks(OSLO), says("21")]), tools_of(scene))
    second = create_react_agent(ScriptedModel(script=[asks(SUM), says("5")]), tools_of(scene))
    graph = scene.chain(("first", first), ("second", second), state=Chat)
    ask(scene, graph.compile(checkpointer=scene.saver), "weather, then the sum?")

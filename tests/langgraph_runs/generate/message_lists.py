"""Lists of messages: two side by side, one id for two calls, a result that a node rewrites."""

from typing import Annotated, Any, TypedDict

from agents import OSLO, ask, tools_of
from api import END, StateGraph, ToolNode, add_messages
from langchain_core.messages import HumanMessage, RemoveMessage, ToolMessage
from models import ScriptedModel, asks, says
from scenario import Chat, Scene, scenario


@scenario()
def result_shortened(scene: Scene) -> None:
    """A node replaces the tool's message by a shorter one of another id, as trimming nodes do."""
    model = ScriptedModel(script=[asks(OSLO), says("21"), asks(OSLO), says("21 again")])

    def shorten(state: Any) -> Any:
        long = state["messages"][-1]
        mark = {"shortened": True}
        short = ToolMessage(
            "21", tool_call_id=long.tool_call_id, name=long.name, additional_kwargs=mark
        )
        return {"messages": [RemoveMessage(id=long.id), short]}

    graph = StateGraph(Chat)
    graph.add_node("agent", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("tools", ToolNode(tools_of(scene)))
    graph.add_node("shorten", scene.journal.node("shorten", shorten))
    graph.set_entry_point("agent")
    graph.add_conditional_edges(
        "agent", lambda state: "tools" if state["messages"][-1].tool_calls else END, ["tools", END]
    )
    graph.add_edge("tools", "shorten")
    graph.add_edge("shorten", "agent")
    compiled = graph.compile(checkpointer=scene.saver)
    ask(scene, compiled, "weather?")
    ask(scene, compiled, "and now?")


class Lists(TypedDict, total=False):
    left: Annotated[list[Any], add_messages]
    right: Annotated[list[Any], add_messages]


@scenario()
def two_lists(scene: Scene) -> None:
    """Two agents side by side, each with a list of its own, ask for calls of the same id."""
    graph = StateGraph(Lists)
    graph.add_node("plan", scene.journal.node("plan", lambda state: {"left": [HumanMessage("?")]}))
    graph.set_entry_point("plan")
    for side in ("left", "right"):
        model = ScriptedModel(script=[asks(("call_0", f"ask_{side}", {"of": side})), says(side)])

        def think(state: Any, side: str = side, model: ScriptedModel = model) -> Any:
            return {side: [model.invoke(state[side])]}

        def call(state: Any, side: str = side) -> Any:
            return {side: [ToolMessage(side, tool_call_id="call_0", name=f"ask_{side}")]}

        for name, function in (("asks", think), ("calls", call), ("reads", think)):
            graph.add_node(f"{side}_{name}", scene.journal.node(f"{side}_{name}", function))
        graph.add_edge("plan", f"{side}_asks")
        graph.add_edge(f"{side}_asks", f"{side}_calls")
        graph.add_edge(f"{side}_calls", f"{side}_reads")
    compiled = graph.compile(checkpointer=scene.saver)
    scene.invoke(compiled, {"left": [HumanMessage("?")], "right": [HumanMessage("?")]})


@scenario()
def another_list(scene: Scene) -> None:
    """A model that talks in a list of its own speaks before the one that asked for the call."""
    asking = ScriptedModel(script=[asks(("call_0", "ask", {})), says("done")])
    other = ScriptedModel(script=[says("I heard nothing")])
    nodes = {
        "asks": lambda state: {"left": [asking.invoke(state["left"])]},
        "calls": lambda state: {"left": [ToolMessage("42", tool_call_id="call_0", name="ask")]},
        "other": lambda state: {"right": [other.invoke(state["right"])]},
        "reads": lambda state: {"left": [asking.invoke(state["left"])]},
    }
    named = [(name, scene.journal.node(name, function)) for name, function in nodes.items()]
    compiled = scene.chain(*named, state=Lists).compile(checkpointer=scene.saver)
    scene.invoke(compiled, {"left": [HumanMessage("?")], "right": [HumanMessage("?")]})


@scenario()
def one_id_twice(scene: Scene) -> None:
    """A model gives two calls of one message the same id; the second one fails."""
    model = ScriptedModel(script=[asks(("id", "fine", {"of": 1}), ("id", "broken", {"of": 2}))])
    results = [
        ToolMessage("1", tool_call_id="id", name="fine"),
        ToolMessage("no", tool_call_id="id", name="broken", status="error"),
    ]
    think = scene.journal.node(
        "think", lambda state: {"messages": [model.invoke(state["messages"])]}
    )
    call = scene.journal.node("call", lambda state: {"messages": results})
    graph = scene.chain(("think", think), ("call", call), state=Chat)
    ask(scene, graph.compile(checkpointer=scene.saver), "both?")

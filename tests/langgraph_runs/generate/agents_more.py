"""Agents in the ways that hide a call: handed over, inside a tool, written again, elsewhere."""

from typing import Annotated, Any, TypedDict

from agents import ATLANTIS, OSLO, ROME, SUM, ask, react, tools_of
from api import END, Command, StateGraph, ToolNode, add_messages, interrupt
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.prebuilt import create_react_agent
from models import ScriptedModel, asks, says
from scenario import Chat, Scene, scenario

try:
    from langchain_core.tools import InjectedToolCallId
except ImportError:
    InjectedToolCallId = None


def loop(scene: Scene, model: ScriptedModel, tools: list[Any]) -> StateGraph:
    """Return the uncompiled graph of a model node and a ToolNode."""
    graph = StateGraph(Chat)
    agent = scene.journal.node(
        "agent", lambda state: {"messages": [model.invoke(state["messages"])]}
    )
    graph.add_node("agent", agent)
    graph.add_node("tools", ToolNode(tools))
    graph.set_entry_point("agent")
    graph.add_conditional_edges(
        "agent",
        lambda state: "tools" if state["messages"][-1].tool_calls else END,
        ["tools", END],
    )
    graph.add_edge("tools", "agent")
    return graph


@scenario(Command, InjectedToolCallId)
def tool_command(scene: Scene) -> None:
    """A tool answers with a Command: its message lies in the update."""

    @tool
    def remember(fact: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command:
        """Remember a fact."""
        message = ToolMessage("remembered", tool_call_id=tool_call_id, name="remember")
        return Command(update={"messages": [message], "tries": 1})

    script = [asks(("call_remember", "remember", {"fact": "water is wet"}), OSLO), says("done")]
    graph = loop(scene, ScriptedModel(script=script), [remember, *tools_of(scene)])
    ask(scene, graph.compile(checkpointer=scene.saver), "remember and look")


@scenario(Command, InjectedToolCallId)
def handoff(scene: Scene) -> None:
    """An agent hands over to another through a tool that sends the parent graph elsewhere."""

    @tool
    def to_second(reason: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command:
        """Hand over to the second agent."""
        message = ToolMessage("handed over", tool_call_id=tool_call_id, name="to_second")
        return Command(goto="second", graph=Command.PARENT, update={"messages": [message]})

    first = loop(
        scene,
        ScriptedModel(script=[asks(("call_over", "to_second", {"reason": "weather"}))]),
        [to_second],
    ).compile()
    second = loop(scene, ScriptedModel(script=[asks(OSLO), says("21")]), tools_of(scene)).compile()
    graph = StateGraph(Chat)
    graph.add_node("first", first)
    graph.add_node("second", second)
    graph.set_entry_point("first")
    graph.add_edge("second", END)
    ask(scene, graph.compile(checkpointer=scene.saver), "who knows?")


@scenario()
def agent_as_tool(scene: Scene) -> None:
    """A tool runs an agent of its own, whose history lies in the tool node's namespace."""
    expert = create_react_agent(ScriptedModel(script=[asks(SUM), says("5")]), tools_of(scene))

    @tool
    def expert_says(question: str) -> str:
        """Ask the expert."""
        return expert.invoke({"messages": [HumanMessage(question)]})["messages"][-1].content

    script = [asks(("call_expert", "expert_says", {"question": "2+3?"})), says("five")]
    graph = loop(scene, ScriptedModel(script=script), [expert_says])
    ask(scene, graph.compile(checkpointer=scene.saver), "ask the expert")


@scenario(interrupt)
def interrupt_in_tool(scene: Scene) -> None:
    """A tool asks a person; its answer is given by the next call."""

    @tool
    def book(hotel: str) -> str:
        """Book a hotel."""
        return f"{interrupt('really?')}: booked {hotel}"

    script = [asks(("call_book", "book", {"hotel": "Ritz"})), says("booked")]
    graph = loop(scene, ScriptedModel(script=script), [book]).compile(checkpointer=scene.saver)
    ask(scene, graph, "book the Ritz")
    scene.invoke(graph, Command(resume="yes"))


@scenario(interrupt)
def interrupt_in_tool_left(scene: Scene) -> None:
    """A tool asks a person and nobody answers: its call stays open and has not failed."""

    @tool
    def book(hotel: str) -> str:
        """Book a hotel."""
        return f"{interrupt('really?')}: booked {hotel}"

    script = [asks(("call_book", "book", {"hotel": "Ritz"}))]
    graph = loop(scene, ScriptedModel(script=script), [book]).compile(checkpointer=scene.saver)
    ask(scene, graph, "book the Ritz")


@scenario()
def messages_written_again(scene: Scene) -> None:
    """A node returns the whole list of messages, as people do: no call was made again."""
    model = ScriptedModel(script=[asks(OSLO, ROME), says("21 and 21")])
    graph = StateGraph(Chat)
    graph.add_node("agent", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("tools", ToolNode(tools_of(scene)))
    whole = scene.journal.node("whole_state", lambda state: {"messages": state["messages"]})
    graph.add_node("whole_state", whole)
    graph.set_entry_point("agent")
    graph.add_conditional_edges(
        "agent",
        lambda state: "tools" if state["messages"][-1].tool_calls else "whole_state",
        ["tools", "whole_state"],
    )
    graph.add_edge("tools", "agent")
    graph.set_finish_point("whole_state")
    ask(scene, graph.compile(checkpointer=scene.saver), "both?")


class Elsewhere(TypedDict, total=False):
    history: Annotated[list[Any], add_messages]


@scenario()
def messages_elsewhere(scene: Scene) -> None:
    """The conversation lies in a channel of another name, and the node calls the tool itself."""
    model = ScriptedModel(script=[asks(OSLO), says("21")])
    (weather, _) = tools_of(scene)

    def call(state: Any) -> Any:
        (request,) = state["history"][-1].tool_calls
        answer = weather.invoke(request["args"])
        message = ToolMessage(answer, tool_call_id=request["id"], name=request["name"])
        return {"history": [message]}

    graph = StateGraph(Elsewhere)
    think = scene.journal.node("think", lambda state: {"history": [model.invoke(state["history"])]})
    graph.add_node("think", think)
    graph.add_node("call", scene.journal.node("call", call))
    graph.set_entry_point("think")
    graph.add_conditional_edges(
        "think", lambda state: "call" if state["history"][-1].tool_calls else END, ["call", END]
    )
    graph.add_edge("call", "think")
    compiled = graph.compile(checkpointer=scene.saver)
    scene.invoke(compiled, {"history": [HumanMessage("weather?")]})


@scenario()
def tool_fails_then_continued(scene: Scene) -> None:
    """A tool raises; the thread is continued and the tool node runs again, and raises again."""
    agent = react(scene, ScriptedModel(script=[asks(ATLANTIS)]), handle=False)
    ask(scene, agent, "weather?")
    scene.invoke(agent, None)


@scenario()
def guard_raises(scene: Scene) -> None:
    """A node between model and tools refuses the one call that was asked for: no tool ran."""

    def refuse(state: Chat) -> dict[str, Any]:
        raise PermissionError("not allowed")

    graph = StateGraph(Chat)
    model = ScriptedModel(script=[asks(OSLO)])
    agent = scene.journal.node(
        "agent", lambda state: {"messages": [model.invoke(state["messages"])]}
    )
    graph.add_node("agent", agent)
    graph.add_node("guard", scene.journal.node("guard", refuse))
    graph.set_entry_point("agent")
    graph.add_edge("agent", "guard")
    graph.add_edge("guard", END)
    ask(scene, graph.compile(checkpointer=scene.saver), "may I?")

"""Graphs inside graphs: returning, failing inside, three levels, handing off to the parent."""

from typing import Any

from api import END, Command, StateGraph
from langchain_core.runnables import RunnableConfig
from scenario import Log, Scene, scenario


def failing_inner(scene: Scene) -> Any:
    return scene.chain(
        ("inner_one", scene.says("inner_one")),
        ("inner_two", scene.raises("inner_two", ValueError("inside broke"))),
    ).compile()


@scenario()
def subgraph_ok(scene: Scene) -> None:
    inner = scene.chain(
        ("inner_one", scene.says("inner_one")), ("inner_two", scene.says("inner_two"))
    ).compile()
    graph = scene.chain(
        ("before", scene.says("before")), ("sub", inner), ("after", scene.says("after"))
    )
    scene.invoke(graph.compile(checkpointer=scene.saver), {"said": []})


@scenario()
def subgraph_fails(scene: Scene) -> None:
    graph = scene.chain(
        ("before", scene.says("before")),
        ("sub", failing_inner(scene)),
        ("after", scene.says("after")),
    )
    scene.invoke(graph.compile(checkpointer=scene.saver), {"said": []})


@scenario()
def subgraph_reraised(scene: Scene) -> None:
    """The outer node catches what came out of the inner graph and raises its own error."""
    inner = failing_inner(scene)

    def sub(state: Any, config: RunnableConfig) -> Any:
        try:
            return inner.invoke(state, config)
        except ValueError as error:
            raise RuntimeError("the subgraph did not work") from error

    graph = scene.chain(("before", scene.says("before")), ("sub", sub))
    scene.invoke(graph.compile(checkpointer=scene.saver), {"said": []})


@scenario()
def subgraph_caught(scene: Scene) -> None:
    """The outer node catches what came out of the inner graph and goes on."""
    inner = failing_inner(scene)

    def sub(state: Any, config: RunnableConfig) -> Any:
        try:
            return inner.invoke(state, config)
        except ValueError:
            return {"said": ["recovered"]}

    graph = scene.chain(("sub", sub), ("after", scene.says("after")))
    scene.invoke(graph.compile(checkpointer=scene.saver), {"said": []})


@scenario()
def subgraph_called_twice(scene: Scene) -> None:
    """One task invokes the same inner graph twice."""
    inner = scene.chain(
        ("inner_one", scene.says("inner_one")), ("inner_two", scene.says("inner_two"))
    ).compile()

    def sub(state: Any, config: RunnableConfig) -> Any:
        inner.invoke({"said": []}, config)
        inner.invoke({"said": []}, config)
        return {"said": ["sub"]}

    graph = scene.chain(("sub", sub), ("after", scene.says("after")))
    scene.invoke(graph.compile(checkpointer=scene.saver), {"said": []})


def nested(scene: Scene, deepest: Any) -> Any:
    third = scene.chain(("deep_one", scene.says("deep_one")), ("deep_two", deepest)).compile()
    second = scene.chain(("middle", scene.says("middle")), ("level_three", third)).compile()
    first = scene.chain(("upper", scene.says("upper")), ("level_two", second)).compile()
    return scene.chain(
        ("before", scene.says("before")), ("level_one", first), ("after", scene.says("after"))
    ).compile(checkpointer=scene.saver)


@scenario()
def nested_three(scene: Scene) -> None:
    scene.invoke(nested(scene, scene.says("deep_two")), {"said": []})


@scenario()
def nested_three_fails(scene: Scene) -> None:
    deepest = scene.raises("deep_two", OSError("no space left"))
    scene.invoke(nested(scene, deepest), {"said": []})


@scenario()
def parallel_subgraphs(scene: Scene) -> None:
    """Two subgraphs in one super-step, joined."""
    graph = StateGraph(Log)
    graph.add_node("plan", scene.says("plan"))
    for side in ("left", "right"):
        names = (f"{side}_one", f"{side}_two")
        graph.add_node(side, scene.chain(*((n, scene.says(n)) for n in names)).compile())
        graph.add_edge("plan", side)
    graph.add_node("join", scene.says("join"))
    graph.add_edge(["left", "right"], "join")
    graph.set_entry_point("plan")
    graph.set_finish_point("join")
    scene.invoke(graph.compile(checkpointer=scene.saver), {"said": []})


@scenario(Command)
def command_parent(scene: Scene) -> None:
    """A node of a subgraph hands over to a node of the graph around it."""
    hand_over = scene.journal.node(
        "hand_over",
        lambda state: Command(goto="other", graph=Command.PARENT, update={"said": ["hand_over"]}),
    )
    inner = scene.chain(("inner_one", scene.says("inner_one")), ("hand_over", hand_over)).compile()
    graph = StateGraph(Log)
    graph.add_node("sub", inner)
    graph.add_node("other", scene.says("other"))
    graph.set_entry_point("sub")
    graph.add_edge("other", END)
    scene.invoke(graph.compile(checkpointer=scene.saver), {"said": []})

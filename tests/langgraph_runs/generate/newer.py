"""What the releases since 0.2.60 added: the functional API, deferred nodes, error handlers."""

import datetime
import decimal
import enum
import operator
from typing import Annotated, Any, TypedDict

from api import END, Command, Send, StateGraph, entrypoint, interrupt, takes, task
from pydantic import BaseModel
from scenario import Log, Scene, scenario

HAS_DEFER = True if takes(StateGraph.add_node, "defer") else None
HAS_ERROR_HANDLER = True if takes(StateGraph.add_node, "error_handler") else None


@scenario(task)
def functional(scene: Scene) -> None:
    """Tasks called from an entrypoint: three at once, then one that gets their results."""

    @task
    def square(number: int) -> int:
        scene.journal.tools.append({"tool": "square", "arguments": number, "outcome": "ok"})
        return number * number

    @task
    def total(numbers: list[int]) -> int:
        return sum(numbers)

    @entrypoint(checkpointer=scene.saver)
    def flow(numbers: list[int]) -> int:
        futures = [square(number) for number in numbers]
        return total([future.result() for future in futures]).result()

    scene.invoke(flow, [1, 2, 3])


@scenario(task, interrupt)
def functional_fails(scene: Scene) -> None:
    """A task raises: it fails, and the entrypoint that asked for its result with it."""

    @task
    def breaks(number: int) -> int:
        raise ArithmeticError(f"cannot do {number}")

    @entrypoint(checkpointer=scene.saver)
    def flow(number: int) -> int:
        return breaks(number).result()

    scene.invoke(flow, 3)


@scenario(task)
def functional_caught(scene: Scene) -> None:
    """Of three tasks two raise; the entrypoint goes on without them, in two turns."""

    @task
    def divide(number: int) -> float:
        return 12 / number if number else _unlucky()

    @entrypoint(checkpointer=scene.saver)
    def flow(numbers: list[int]) -> list[float]:
        results = []
        for future in [divide(number) for number in numbers]:
            try:
                results.append(future.result())
            except ZeroDivisionError:
                results.append(0.0)
        return results

    scene.invoke(flow, [0, 3, 0])
    scene.invoke(flow, [2, 0])


@scenario(task)
def node_calls_tasks(scene: Scene) -> None:
    """A node of a graph calls two tasks; one raises, and the node goes on without it."""

    @task
    def divide(number: int) -> float:
        return 12 / number if number else _unlucky()

    def node(state: Any) -> Any:
        futures = [divide(0), divide(3)]
        try:
            return {"said": [str(futures[0].result())]}
        except ZeroDivisionError:
            return {"said": [str(futures[1].result())]}

    graph = scene.chain(("node", scene.journal.node("node", node)), ("after", scene.says("after")))
    scene.invoke(graph.compile(checkpointer=scene.saver), {"said": []})


def _unlucky() -> float:
    raise ZeroDivisionError("cannot divide by 0")


@scenario(task, interrupt)
def functional_fails_later(scene: Scene) -> None:
    """An entrypoint asks, is answered, and then a task of it raises: one failure."""

    @task
    def breaks(answer: str) -> str:
        raise ArithmeticError(f"cannot do {answer}")

    @entrypoint(checkpointer=scene.saver)
    def flow(number: int) -> str:
        return breaks(interrupt("which?")).result()

    scene.invoke(flow, 3)
    scene.invoke(flow, Command(resume="this"))


@scenario(HAS_DEFER)
def deferred(scene: Scene) -> None:
    """A deferred join without a waiting edge: it runs when nothing else is left."""
    graph = StateGraph(Log)
    for name in ("plan", "a", "b", "b_two"):
        graph.add_node(name, scene.says(name))
    graph.add_node("join", scene.says("join"), defer=True)
    graph.set_entry_point("plan")
    graph.add_edge("plan", "a")
    graph.add_edge("plan", "b")
    graph.add_edge("b", "b_two")
    graph.add_edge("a", "join")
    graph.add_edge("b_two", "join")
    graph.set_finish_point("join")
    scene.invoke(graph.compile(checkpointer=scene.saver), {"said": []})


@scenario(HAS_DEFER)
def deferred_twice(scene: Scene) -> None:
    """Of two deferred nodes that run at the end one sends the other on to a second run."""
    graph = StateGraph(Log)
    graph.add_node("plan", scene.says("plan"))
    graph.add_node("a", scene.says("a"))
    for name in ("first", "last"):
        graph.add_node(name, scene.says(name), defer=True)
        graph.add_edge("a", name)
    graph.set_entry_point("plan")
    graph.add_edge("plan", "a")
    graph.add_edge("first", "last")
    graph.set_finish_point("last")
    scene.invoke(graph.compile(checkpointer=scene.saver), {"said": []})


@scenario(HAS_ERROR_HANDLER)
def error_handler(scene: Scene) -> None:
    """A node raises and its handler answers in its place, in the same super-step."""
    graph = StateGraph(Log)
    graph.add_node("before", scene.says("before"))
    graph.add_node(
        "breaks",
        scene.raises("breaks", ValueError("handled")),
        error_handler=scene.journal.node("handler", lambda state: {"said": ["handler"]}),
    )
    graph.add_node("after", scene.says("after"))
    graph.set_entry_point("before")
    graph.add_edge("before", "breaks")
    graph.add_edge("breaks", "after")
    graph.set_finish_point("after")
    scene.invoke(graph.compile(checkpointer=scene.saver), {"said": []})


@scenario(Command)
def command_input(scene: Scene) -> None:
    """A thread that stopped is sent on from outside, with a value: Command as the input."""
    graph = scene.chain(*((name, scene.says(name)) for name in ("one", "two", "three")))
    compiled = graph.compile(checkpointer=scene.saver, interrupt_before=["two"])
    scene.invoke(compiled, {"said": []})
    scene.invoke(compiled, Command(goto="three", update={"said": ["outside"]}))


@scenario(Command)
def command_goto_send(scene: Scene) -> None:
    """A node goes to packets and to a node at once."""
    work = scene.journal.node("work", lambda state: {"said": [state["item"]]})
    route = scene.journal.node(
        "route",
        lambda state: Command(
            goto=[Send("work", {"item": "w"}), "side", Send("work", {"item": "x"})]
        ),
    )
    graph = StateGraph(Log)
    graph.add_node("route", route)
    graph.add_node("work", work)
    graph.add_node("side", scene.says("side"))
    graph.add_edge("work", END)
    graph.add_edge("side", END)
    graph.set_entry_point("route")
    scene.invoke(graph.compile(checkpointer=scene.saver), {"said": []})


@scenario(Command)
def kept_subgraph(scene: Scene) -> None:
    """A subgraph with a history of its own (checkpointer=True), over two turns."""
    inner = scene.chain(
        ("inner_one", scene.says("inner_one")), ("inner_two", scene.says("inner_two"))
    ).compile(checkpointer=True)
    graph = scene.chain(("sub", inner), ("after", scene.says("after"))).compile(
        checkpointer=scene.saver
    )
    scene.invoke(graph, {"said": []})
    scene.invoke(graph, {"said": []})


class Colour(enum.Enum):
    RED = "red"


class Point(BaseModel):
    x: int
    y: float


class Values(TypedDict, total=False):
    values: Annotated[list[Any], operator.add]


@scenario()
def rich_values(scene: Scene) -> None:
    """Values that need a class to be read back: the record must be read without it."""
    values = [
        datetime.datetime(2024, 5, 1, 12, 30, tzinfo=datetime.UTC),
        datetime.timedelta(seconds=3),
        decimal.Decimal("1.50"),
        Colour.RED,
        {1, 2},
        b"\x00\xff",
        Point(x=1, y=2.5),
        2**40,
        "\ud83d".encode("utf-16", "surrogatepass").decode("utf-16", "replace"),
    ]
    node = scene.journal.node("fills", lambda state: {"values": values})
    graph = scene.chain(
        ("fills", node), ("silent", scene.journal.node("silent", lambda s: None)), state=Values
    )
    scene.invoke(graph.compile(checkpointer=scene.saver), {"values": []})


@scenario()
def nothing_written(scene: Scene) -> None:
    """Nodes that return nothing still ran."""
    quiet = scene.journal.node("quiet", lambda state: None)
    graph = scene.chain(
        ("loud", scene.says("loud")), ("quiet", quiet), ("last", scene.says("last"))
    )
    scene.invoke(graph.compile(checkpointer=scene.saver), {"said": []})

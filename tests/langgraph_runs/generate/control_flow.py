"""Graphs without messages: fan-out, map-reduce, loops, failures, goto."""

import asyncio
import time
from typing import Any

import aiosqlite
from api import END, AsyncSqliteSaver, Command, RetryPolicy, Send, StateGraph, retry_argument
from scenario import Log, Scene, scenario


def diamond(scene: Scene, *branches: tuple[str, Any]) -> StateGraph:
    """Return plan -> branches -> join, the join on one edge that waits for all."""
    graph = StateGraph(Log)
    graph.add_node("plan", scene.says("plan"))
    for name, function in branches:
        graph.add_node(name, function)
        graph.add_edge("plan", name)
    graph.add_node("join", scene.says("join"))
    graph.add_edge([name for name, _ in branches], "join")
    graph.set_entry_point("plan")
    graph.set_finish_point("join")
    return graph


@scenario()
def fan_out(scene: Scene) -> None:
    graph = diamond(scene, *((name, scene.says(name)) for name in "abc"))
    scene.invoke(graph.compile(checkpointer=scene.saver), {"said": []})


@scenario()
def fan_out_separate_edges(scene: Scene) -> None:
    """A join by three plain edges: it runs once, since all three come in one super-step."""
    graph = StateGraph(Log)
    for name in ("plan", "a", "b", "c", "join"):
        graph.add_node(name, scene.says(name))
    for name in "abc":
        graph.add_edge("plan", name)
        graph.add_edge(name, "join")
    graph.set_entry_point("plan")
    graph.set_finish_point("join")
    scene.invoke(graph.compile(checkpointer=scene.saver), {"said": []})


@scenario()
def fan_out_uneven(scene: Scene) -> None:
    """The join waits: two of its causes end a super-step before the third."""
    graph = StateGraph(Log)
    for name in ("plan", "a", "b", "slow", "slower", "join"):
        graph.add_node(name, scene.says(name))
    for name in ("a", "b", "slow"):
        graph.add_edge("plan", name)
    graph.add_edge("slow", "slower")
    graph.add_edge(["a", "b", "slower"], "join")
    graph.set_entry_point("plan")
    graph.set_finish_point("join")
    scene.invoke(graph.compile(checkpointer=scene.saver), {"said": []})


@scenario()
def fan_out_failing(scene: Scene) -> None:
    """One of three raises when the other two have returned."""

    def late(state: Any) -> Any:
        time.sleep(0.1)
        raise TimeoutError("b took too long")

    graph = diamond(
        scene, ("a", scene.says("a")), ("b", scene.journal.node("b", late)), ("c", scene.says("c"))
    )
    scene.invoke(graph.compile(checkpointer=scene.saver), {"said": []})


@scenario()
def cancelled_sibling(scene: Scene) -> None:
    """One of two raises while the other waits: asyncio tears that one down."""

    async def fails(state: Any) -> Any:
        await asyncio.sleep(0.05)
        raise ValueError("broke")

    async def waits(state: Any) -> Any:
        await asyncio.sleep(30)

    graph = diamond(
        scene,
        ("fails", scene.journal.node("fails", fails)),
        ("waits", scene.journal.node("waits", waits)),
    )

    async def run() -> Any:
        async with aiosqlite.connect(scene.path) as connection:
            compiled = graph.compile(checkpointer=AsyncSqliteSaver(connection))
            return await compiled.ainvoke({"said": []}, scene.config())

    scene.journal.run(scene.thread, lambda: asyncio.run(run()))


@scenario()
def cancelled_in_queue(scene: Scene) -> None:
    """One task at a time: the first raises, and of those that wait one never begins."""

    def fails(state: Any) -> Any:
        time.sleep(0.1)
        raise ValueError("broke")

    def slow(state: Any) -> Any:
        time.sleep(0.3)
        return {"said": ["b_slow"]}

    graph = diamond(
        scene,
        ("a_fails", scene.journal.node("a_fails", fails)),
        ("b_slow", scene.journal.node("b_slow", slow)),
        ("c_queued", scene.says("c_queued")),
    )
    compiled = graph.compile(checkpointer=scene.saver)
    scene.invoke(compiled, {"said": []}, scene.config(max_concurrency=1))


def map_reduce_graph(scene: Scene, work: Any) -> StateGraph:
    graph = StateGraph(Log)
    graph.add_node("plan", scene.says("plan"))
    graph.add_node("work", work)
    graph.add_node("reduce", scene.says("reduce"))
    graph.set_entry_point("plan")
    graph.add_conditional_edges(
        "plan", lambda state: [Send("work", {"item": item}) for item in "wxyz"], ["work"]
    )
    graph.add_edge("work", "reduce")
    graph.set_finish_point("reduce")
    return graph


@scenario()
def map_reduce(scene: Scene) -> None:
    work = scene.journal.node("work", lambda state: {"said": [state["item"]]})
    graph = map_reduce_graph(scene, work)
    scene.invoke(graph.compile(checkpointer=scene.saver), {"said": []})


@scenario()
def map_reduce_held(scene: Scene) -> None:
    """Four packets are sent, and the node that would get them is held."""
    graph = map_reduce_graph(scene, scene.says("work"))
    held = graph.compile(checkpointer=scene.saver, interrupt_before=["work"])
    scene.invoke(held, {"said": []})


@scenario()
def map_reduce_failing(scene: Scene) -> None:
    def work(state: Any) -> Any:
        if state["item"] == "y":
            time.sleep(0.1)
            raise KeyError("y")
        return {"said": [state["item"]]}

    graph = map_reduce_graph(scene, scene.journal.node("work", work))
    scene.invoke(graph.compile(checkpointer=scene.saver), {"said": []})


@scenario()
def conditional(scene: Scene) -> None:
    """A loop through a conditional edge, three times, and another branch out of it."""
    graph = StateGraph(Log)
    graph.add_node("try_it", scene.says("try_it"))
    graph.add_node("done", scene.says("done"))
    graph.set_entry_point("try_it")
    graph.add_conditional_edges(
        "try_it", lambda state: "try_it" if len(state["said"]) < 3 else "done", ["try_it", "done"]
    )
    graph.set_finish_point("done")
    scene.invoke(graph.compile(checkpointer=scene.saver), {"said": []})


@scenario()
def node_raises(scene: Scene) -> None:
    graph = scene.chain(
        ("first", scene.says("first")), ("second", scene.raises("second", ValueError("no")))
    )
    scene.invoke(graph.compile(checkpointer=scene.saver), {"said": []})


@scenario()
def condition_raises(scene: Scene) -> None:
    """What chooses the next node raises: the node's writes are saved, and so is the error."""

    def choose(state: Any) -> str:
        raise LookupError("no such way")

    graph = StateGraph(Log)
    graph.add_node("first", scene.says("first"))
    graph.add_node("second", scene.says("second"))
    graph.set_entry_point("first")
    graph.add_conditional_edges("first", choose, ["second"])
    graph.set_finish_point("second")
    scene.invoke(graph.compile(checkpointer=scene.saver), {"said": []})


@scenario()
def raised_then_continued(scene: Scene) -> None:
    """A node raises; the thread is then continued with None and the node succeeds."""
    failures = iter([ConnectionError("down")])

    def second(state: Any) -> Any:
        for error in failures:
            raise error
        return {"said": ["second"]}

    graph = scene.chain(
        ("first", scene.says("first")), ("second", scene.journal.node("second", second))
    ).compile(checkpointer=scene.saver)
    scene.invoke(graph, {"said": []})
    scene.invoke(graph, None)


@scenario()
def recursion_limit(scene: Scene) -> None:
    graph = StateGraph(Log)
    graph.add_node("again", scene.says("again"))
    graph.set_entry_point("again")
    graph.add_edge("again", "again")
    compiled = graph.compile(checkpointer=scene.saver)
    scene.invoke(compiled, {"said": []}, scene.config(recursion_limit=4))


def retrying(scene: Scene, failures: int) -> None:
    errors = iter([ConnectionError(f"attempt {number}") for number in range(failures)])

    def flaky(state: Any) -> Any:
        for error in errors:
            raise error
        return {"said": ["flaky"]}

    policy = RetryPolicy(
        max_attempts=3, initial_interval=0.01, jitter=False, retry_on=ConnectionError
    )
    graph = StateGraph(Log)
    graph.add_node("start_here", scene.says("start_here"))
    graph.add_node(
        "flaky",
        scene.journal.node("flaky", flaky),
        **retry_argument(policy),
    )
    graph.set_entry_point("start_here")
    graph.add_edge("start_here", "flaky")
    graph.set_finish_point("flaky")
    scene.invoke(graph.compile(checkpointer=scene.saver), {"said": []})


@scenario()
def retry_policy(scene: Scene) -> None:
    retrying(scene, 2)


@scenario()
def retry_exhausted(scene: Scene) -> None:
    retrying(scene, 3)


@scenario(Command)
def command_goto(scene: Scene) -> None:
    graph = StateGraph(Log)
    route = scene.journal.node(
        "route", lambda state: Command(goto=["left", "right"], update={"said": ["route"]})
    )
    graph.add_node("route", route)
    for name in ("left", "right"):
        graph.add_node(name, scene.says(name))
        graph.add_edge(name, END)
    graph.set_entry_point("route")
    scene.invoke(graph.compile(checkpointer=scene.saver), {"said": []})


@scenario()
def error_channel(scene: Scene) -> None:
    """The channel is set, written again while set, cleared, and set again."""
    graph = scene.chain(
        ("fine", scene.says("fine")),
        ("sets", scene.says("sets", error="disk full")),
        ("rewrites", scene.says("rewrites", error="disk full")),
        ("clears", scene.says("clears", error=None)),
        ("sets_again", scene.says("sets_again", error={"code": 7})),
    )
    scene.invoke(graph.compile(checkpointer=scene.saver), {"said": []})


@scenario()
def two_threads(scene: Scene) -> None:
    """Two threads of one graph in one database, their runs taking turns; one fails."""

    def second(state: Any) -> Any:
        if state["item"] == "bad":
            raise ValueError("bad item")
        return {"said": ["second"]}

    graph = scene.chain(
        ("first", scene.says("first")), ("second", scene.journal.node("second", second))
    ).compile(checkpointer=scene.saver)
    for item in ("good", "bad", "good"):
        scene.invoke(graph, {"said": [], "item": item}, scene.config(f"two_threads-{item}"))

"""Threads that were stopped, resumed, forked or written to from outside."""

import os
import time
from typing import Any

from api import Command, NodeInterrupt, StateGraph, interrupt, takes
from langgraph.pregel import Pregel
from scenario import Log, Scene, scenario

HAS_DURABILITY = True if takes(Pregel.stream, "durability") else None
TAKES_INPUT = getattr(Pregel, "bulk_update_state", None)


def three(scene: Scene) -> Any:
    return scene.chain(*((name, scene.says(name)) for name in ("one", "two", "three")))


@scenario()
def breakpoint_left(scene: Scene) -> None:
    """Held before a node and never continued: the scheduled task leaves nothing."""
    graph = three(scene).compile(checkpointer=scene.saver, interrupt_before=["two"])
    scene.invoke(graph, {"said": []})


@scenario(Command)
def goto_killed(scene: Scene) -> None:
    """Sent on from outside and killed in the next node: the goto is saved and never applied."""

    def dies(state: Any) -> Any:
        time.sleep(0.2)  # what was saved before the node began is in the table by then
        os._exit(0)

    if (child := os.fork()) == 0:
        own = Scene(scene.path, scene.thread)
        names = (("one", own.says("one")), ("two", dies), ("three", dies))
        graph = own.chain(*names).compile(checkpointer=own.saver, interrupt_before=["two"])
        graph.invoke({"said": []}, own.config())
        graph.invoke(Command(goto="three"), own.config())
        os._exit(1)
    _, status = os.waitpid(child, 0)
    assert status == 0
    scene.saver.setup()  # whoever opens and closes the database last moves its log into it


@scenario()
def breakpoint_resumed(scene: Scene) -> None:
    graph = three(scene).compile(checkpointer=scene.saver, interrupt_before=["two"])
    scene.invoke(graph, {"said": []})
    scene.invoke(graph, None)


@scenario(NodeInterrupt)
def node_interrupt(scene: Scene) -> None:
    """The interrupt of 0.2: a node raises it and runs again from its beginning."""

    def two(state: Any) -> Any:
        raise NodeInterrupt("is this right?")

    graph = scene.chain(("one", scene.says("one")), ("two", scene.journal.node("two", two)))
    scene.invoke(graph.compile(checkpointer=scene.saver), {"said": []})


def asking(scene: Scene, questions: int = 1) -> Any:
    def ask(state: Any) -> Any:
        return {"said": [interrupt(f"question {number}") for number in range(questions)]}

    return scene.chain(
        ("before", scene.says("before")),
        ("ask", scene.journal.node("ask", ask)),
        ("after", scene.says("after")),
    ).compile(checkpointer=scene.saver)


@scenario(interrupt)
def interrupted_left(scene: Scene) -> None:
    scene.invoke(asking(scene), {"said": []})


@scenario(interrupt)
def interrupt_resume(scene: Scene) -> None:
    graph = asking(scene)
    scene.invoke(graph, {"said": []})
    scene.invoke(graph, Command(resume="yes"))


@scenario(interrupt)
def interrupt_twice(scene: Scene) -> None:
    """One node asks two questions, each answered by a call of its own."""
    graph = asking(scene, questions=2)
    scene.invoke(graph, {"said": []})
    scene.invoke(graph, Command(resume="yes"))
    scene.invoke(graph, Command(resume="no"))


@scenario(interrupt)
def interrupt_half_resumed(scene: Scene) -> None:
    """The first of two questions is answered, the second left open."""
    graph = asking(scene, questions=2)
    scene.invoke(graph, {"said": []})
    scene.invoke(graph, Command(resume="yes"))


@scenario(interrupt)
def interrupt_then_raises(scene: Scene) -> None:
    def ask(state: Any) -> Any:
        raise ValueError(f"cannot use {interrupt('what?')}")

    graph = scene.chain(("before", scene.says("before")), ("ask", scene.journal.node("ask", ask)))
    compiled = graph.compile(checkpointer=scene.saver)
    scene.invoke(compiled, {"said": []})
    scene.invoke(compiled, Command(resume="this"))


@scenario(interrupt)
def failed_then_asks(scene: Scene) -> None:
    """A node raises; the thread is continued and the node asks, and is left."""
    errors = iter([ValueError("not yet")])

    def ask(state: Any) -> Any:
        for error in errors:
            raise error
        return {"said": [interrupt("now?")]}

    graph = scene.chain(("before", scene.says("before")), ("ask", scene.journal.node("ask", ask)))
    compiled = graph.compile(checkpointer=scene.saver)
    scene.invoke(compiled, {"said": []})
    scene.invoke(compiled, None)


@scenario(interrupt)
def interrupt_parallel(scene: Scene) -> None:
    """Of two tasks of one super-step one returns and one asks."""

    def ask(state: Any) -> Any:
        return {"said": [interrupt("go on?")]}

    graph = StateGraph(Log)
    graph.add_node("plan", scene.says("plan"))
    graph.add_node("works", scene.says("works"))
    graph.add_node("asks", scene.journal.node("asks", ask))
    graph.add_node("join", scene.says("join"))
    graph.set_entry_point("plan")
    graph.add_edge("plan", "works")
    graph.add_edge("plan", "asks")
    graph.add_edge(["works", "asks"], "join")
    graph.set_finish_point("join")
    compiled = graph.compile(checkpointer=scene.saver)
    scene.invoke(compiled, {"said": []})
    scene.invoke(compiled, Command(resume="yes"))


@scenario(interrupt)
def interrupt_in_subgraph(scene: Scene) -> None:
    def ask(state: Any) -> Any:
        return {"said": [interrupt("inside?")]}

    inner = scene.chain(
        ("inner_before", scene.says("inner_before")),
        ("inner_ask", scene.journal.node("inner_ask", ask)),
    ).compile()
    graph = scene.chain(
        ("before", scene.says("before")), ("sub", inner), ("after", scene.says("after"))
    ).compile(checkpointer=scene.saver)
    scene.invoke(graph, {"said": []})
    scene.invoke(graph, Command(resume="yes"))


def checkpoint_before(graph: Any, scene: Scene, node: str) -> Any:
    """Return the configuration of the checkpoint from which a node ran."""
    for snapshot in graph.get_state_history(scene.config()):
        if snapshot.next == (node,):
            return snapshot.config
    raise LookupError(node)


@scenario()
def fork_invoke(scene: Scene) -> None:
    """The thread is invoked again from an older checkpoint: `two` and `three` run twice."""
    graph = three(scene).compile(checkpointer=scene.saver)
    scene.invoke(graph, {"said": []})
    scene.invoke(graph, None, checkpoint_before(graph, scene, "two"))


@scenario()
def fork_update(scene: Scene) -> None:
    """The state of an older checkpoint is changed and the thread invoked from there."""
    graph = three(scene).compile(checkpointer=scene.saver)
    scene.invoke(graph, {"said": []})
    forked = graph.update_state(
        checkpoint_before(graph, scene, "two"), {"item": "changed"}, as_node="one"
    )
    scene.invoke(graph, None, forked)


@scenario()
def fork_after_failure(scene: Scene) -> None:
    """The last node raises; a branch from before it, with another value, succeeds."""

    def two(state: Any) -> Any:
        if state.get("item") != "good":
            raise ValueError("no good item")
        return {"said": ["two"]}

    graph = scene.chain(
        ("one", scene.says("one")), ("two", scene.journal.node("two", two))
    ).compile(checkpointer=scene.saver)
    scene.invoke(graph, {"said": [], "item": "bad"})
    forked = graph.update_state(
        checkpoint_before(graph, scene, "two"), {"item": "good"}, as_node="one"
    )
    scene.invoke(graph, None, forked)


@scenario()
def update_state(scene: Scene) -> None:
    """State is written from outside, as a node and as nobody, and the thread goes on."""
    graph = three(scene).compile(checkpointer=scene.saver, interrupt_before=["three"])
    scene.invoke(graph, {"said": []})
    graph.update_state(scene.config(), {"item": "by two"}, as_node="two")
    graph.update_state(scene.config(), {"item": "by nobody"})
    scene.invoke(graph, None)


@scenario()
def update_state_first(scene: Scene) -> None:
    """A thread that begins with an update of state."""
    graph = three(scene).compile(checkpointer=scene.saver)
    graph.update_state(scene.config(), {"said": ["outside"]}, as_node="one")
    scene.invoke(graph, None)


@scenario(TAKES_INPUT)
def updated_as_input(scene: Scene) -> None:
    """The input of a second turn is written by ``update_state``."""
    graph = three(scene).compile(checkpointer=scene.saver)
    scene.invoke(graph, {"said": []})
    graph.update_state(scene.config(), {"said": ["again"]}, as_node="__input__")
    scene.invoke(graph, None)


@scenario()
def invoked_twice(scene: Scene) -> None:
    """A second turn of the same thread, without messages."""
    graph = three(scene).compile(checkpointer=scene.saver)
    scene.invoke(graph, {"said": []})
    scene.invoke(graph, {"said": ["again"]})


@scenario(HAS_DURABILITY)
def saved_at_exit(scene: Scene) -> None:
    """durability="exit": only the last checkpoint is written, and no task of the run."""
    graph = three(scene).compile(checkpointer=scene.saver)
    config = scene.config()
    scene.journal.run(scene.thread, lambda: graph.invoke({"said": []}, config, durability="exit"))

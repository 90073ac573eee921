"""Graphs that nobody thought of: random layers, joins over several super-steps, packets, failures.

The tests compare them with what the nodes wrote down, as everything else; a seed is a thread.
"""

import random
from typing import Any

from api import END, Send, StateGraph
from scenario import Log, Scene, scenario

SEEDS = 24


def random_node(scene: Scene, dice: random.Random, name: str) -> Any:
    """Return a node: most say their name, some raise, some are graphs of their own."""
    chance = dice.random()
    if chance < 0.06:
        return scene.raises(name, ValueError(f"{name} broke"))
    if chance < 0.2:
        inner = [(f"{name}_{part}", scene.says(f"{name}_{part}")) for part in ("x", "y")]
        return scene.chain(*inner[: dice.randint(1, 2)]).compile()
    return scene.says(name)


def random_graph(scene: Scene, dice: random.Random) -> StateGraph:
    """Return layers of nodes in which each is triggered by some of the layers before it."""
    graph = StateGraph(Log)
    layers = [["n0"]]
    for depth in range(1, dice.randint(3, 5)):
        layers.append([f"n{depth}{letter}" for letter in "abc"[: dice.randint(1, 3)]])
    graph.add_node("n0", scene.says("n0"))
    for name in (name for layer in layers[1:] for name in layer):
        graph.add_node(name, random_node(scene, dice, name))
    graph.set_entry_point("n0")
    for depth in range(1, len(layers)):
        earlier = [name for layer in layers[:depth] for name in layer]
        for name in layers[depth]:
            near = dice.choice(layers[depth - 1])
            others = dice.sample(earlier, min(len(earlier), dice.randint(1, 3)))
            if dice.random() < 0.5 and set(others) != {near}:
                graph.add_edge(sorted({near, *others}), name)
            else:
                graph.add_edge(near, name)
    if dice.random() < 0.4:
        count = dice.randint(1, 4)
        graph.add_node("sent", scene.says("sent"))
        graph.add_conditional_edges(
            dice.choice(layers[-1]),
            lambda state: [Send("sent", {"item": str(item)}) for item in range(count)],
            ["sent"],
        )
        graph.add_edge("sent", END)
    for name in layers[-1]:
        graph.add_edge(name, END)
    return graph


@scenario()
def random_graphs(scene: Scene) -> None:
    for seed in range(SEEDS):
        graph = random_graph(scene, random.Random(seed)).compile(checkpointer=scene.saver)
        scene.invoke(graph, {"said": []}, scene.config(f"random_graphs-{seed}"))

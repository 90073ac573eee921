"""Checkpoint namespaces: which node of which graph ran the graph that wrote a checkpoint.

``outer:task|inner:task``: the way from the outermost graph, whose own namespace is empty.
"""


def outer_namespace(namespace: str) -> str:
    """Return the namespace of the graph whose node runs the graph of a namespace."""
    return namespace[: _last_node(namespace)].rstrip("|")


def node_of(namespace: str) -> str:
    """Return the name of the node that runs the graph of a namespace."""
    return namespace[_last_node(namespace) :].partition("|")[0].partition(":")[0]


def task_of(namespace: str) -> str | None:
    """Return the id of that task, None where the graph keeps its namespace over all runs."""
    return namespace[_last_node(namespace) :].partition("|")[0].partition(":")[2] or None


def without_counter(namespace: str) -> str:
    """Return the namespace of a task's first call of a graph; later ones have a number behind."""
    start, _, last = namespace.rpartition("|")
    return start if last.isdigit() else namespace


def graph_of(namespace: str) -> str:
    """Return what all runs of one graph share: the names of the nodes on the way to it."""
    parts = (part for part in namespace.split("|") if not part.isdigit())
    return "|".join(part.partition(":")[0] for part in parts)


def _last_node(namespace: str) -> int:
    """Return where the last level begins; a number behind it counts calls of one task."""
    end = len(namespace)
    while True:
        start = namespace.rfind("|", 0, end) + 1
        if not start or not namespace[start:end].isdigit():
            return start
        end = start - 1

"""Damage to a decoded JSON document, and what must hold of whatever is read of it."""

import copy
from typing import Any

from hypothesis import strategies as st

from tracegraph.model.columns import Columns
from tracegraph.model.trace import iterate

Path = tuple[Any, ...]
Damages = list[tuple[Path, Any]]
"""Places, and what is put there."""

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)


def places(value: Any, path: Path = ()) -> list[Path]:
    """Return the path of every value in a document, without the document itself."""
    items: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    return [path] * bool(path) + [p for key, item in items for p in places(item, (*path, key))]


def damages_of(value: Any, odd: st.SearchStrategy[Any] = json_values) -> st.SearchStrategy[Damages]:
    """Draw one to five damages to a document, with ``odd`` values in their places."""
    one = st.tuples(st.sampled_from(places(value)), odd)
    return st.lists(one, min_size=1, max_size=5)


def damaged(value: Any, damages: Damages) -> Any:
    """Return a copy of a document with other values in some places."""
    changed = copy.deepcopy(value)
    for path, odd in damages:
        target: Any = changed
        try:
            for key in path[:-1]:
                target = target[key]
            target[path[-1]] = copy.deepcopy(odd)
        except (KeyError, IndexError, TypeError):
            continue  # an earlier damage took the place away
    return changed


def is_consistent(columns: Columns) -> None:
    """Assert that ids are unique, edges end in steps, and texts are text."""
    for trace in iterate(columns):
        ids = {step.step_id for step in trace.steps}
        assert len(ids) == len(trace)
        assert all({cause.effect, cause.cause} <= ids for cause in trace.causes)
    for text in columns.vocabulary:
        text.encode()

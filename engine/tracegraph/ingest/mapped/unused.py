"""What of a log no field takes: columns as they come by, and values that cannot be used."""

from collections.abc import Iterable
from itertools import takewhile
from typing import Any, Final

from tracegraph.ingest.mapped.field_map import FieldMap
from tracegraph.ingest.mapped.path import ColumnPath, path_text
from tracegraph.model.unmapped import Unmapped, UnusableValues

_MOST: Final = 1_000
"""Columns that are listed; objects whose keys are ids would have any number of them."""
_LONGEST: Final = 200
_Tree = dict[str, "_Tree | None"]
"""Names that are used; None below one that is used as a whole."""


class UnusedColumns:
    """The columns that no path leads to; of an object that is used in part, its other members."""

    def __init__(self, used: Iterable[ColumnPath]) -> None:
        self.more = False
        self._tree: _Tree = {}
        self._seen: dict[str, None] = {}
        for path in used:
            if not path.of_document:
                self._use(path)
        self._known = set(self._tree)
        self._partly = {key: below for key, below in self._tree.items() if below is not None}

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns, in order of first appearance."""
        return tuple(self._seen)

    def note(self, record: dict[str, Any]) -> None:
        """Take note of the columns of a record."""
        if record.keys() - self._known:
            self._walk(record, self._tree, ())
            if not self.more:
                self._known.update(record)
            return
        for key, below in self._partly.items():
            if isinstance(record.get(key), dict):
                self._walk(record[key], below, (key,))

    def _use(self, path: ColumnPath) -> None:
        self._tree[path.text] = None
        names = tuple(takewhile(lambda key: isinstance(key, str), path.keys))  # not list items
        level = self._tree
        for name in names[:-1]:
            below = level.setdefault(str(name), {})
            if below is None:
                return
            level = below
        level[str(names[-1])] = None

    def _walk(self, value: dict[str, Any], tree: _Tree, above: tuple[str, ...]) -> None:
        for key, item in value.items():
            if key not in tree:
                self._add((*above, key))
                continue
            below = tree[key]
            if below is not None and isinstance(item, dict):
                self._walk(item, below, (*above, key))

    def _add(self, keys: tuple[str, ...]) -> None:
        text = path_text(keys)[:_LONGEST]
        if text not in self._seen:
            if len(self._seen) < _MOST:
                self._seen[text] = None
            else:
                self.more = True


class UnusableTally:
    """How many values of each field could not be used, why, and where the first was."""

    def __init__(self, field_map: FieldMap) -> None:
        self._columns = {name: path.text for name, path in field_map.fields.items()}
        labels = ((f"labels.{path.name}", path.text) for path in field_map.labels)
        self._columns |= dict(labels)
        self._found: dict[tuple[str, str], tuple[str, int]] = {}

    def add(self, field: str, code: str, place: str) -> None:
        """Count a value of a field."""
        first, count = self._found.get((field, code), (place, 0))
        self._found[field, code] = (first, count + 1)

    def unmapped(self, unused: UnusedColumns) -> Unmapped:
        """Return the report of a file."""
        order = {field: rank for rank, field in enumerate(self._columns)}
        values = tuple(
            UnusableValues(
                field=field, column=self._columns[field], code=code, count=count, place=place
            )
            for (field, code), (place, count) in sorted(
                self._found.items(), key=lambda item: (order[item[0][0]], item[0][1])
            )
        )
        return Unmapped(columns=unused.columns, more=unused.more, values=values)

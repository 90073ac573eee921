"""Seal the drafts of many small files together: it costs a millisecond however small one is."""

import numpy as np

from tracegraph.corpus.builder import Builder
from tracegraph.model.columns import Array
from tracegraph.model.draft import Draft
from tracegraph.model.seal import seal

SEAL_STEPS = 20_000


class Gather:
    """Takes drafts and hands columns to a builder, in the same order."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._draft: Draft | None = None
        self._homes: list[Array] = []
        self._positions: list[Array] = []

    def add(self, draft: Draft, home: Array, position: Array) -> None:
        """Take a draft whose traces belong to files ``home``, at places ``position`` in them.

        The draft must not be used afterwards.
        """
        self._homes.append(home)
        self._positions.append(position)
        if self._draft is None:
            self._draft = draft
        else:
            self._draft.extend(draft)
        if len(self._draft.steps.step_id) >= SEAL_STEPS:
            self.flush()

    def flush(self) -> None:
        """Hand over what was taken so far."""
        if self._draft is None:
            return
        columns = seal(self._draft)
        self._draft = None
        self._builder.add(columns, np.concatenate(self._homes), np.concatenate(self._positions))
        self._homes, self._positions = [], []

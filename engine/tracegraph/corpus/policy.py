"""What may be written to disk (DESIGN section 3: content policy)."""

import dataclasses
from typing import Literal, get_args

import numpy as np

from tracegraph.corpus.merge import compact
from tracegraph.errors import UsageError
from tracegraph.model.columns import Columns

Keep = Literal["structure", "errors", "content"]
"""``structure``: names, kinds, status, times, digests. ``errors``: error text too. ``content``:
prompts, outputs and attributes too."""
KEEPS: tuple[Keep, ...] = get_args(Keep)


def policy(text: str) -> Keep:
    """Return the policy of a name.

    Raises:
        UsageError: there is none of that name.
    """
    for keep in KEEPS:
        if keep == text:
            return keep
    raise UsageError(f"keep {text!r}: expected one of {', '.join(KEEPS)}")


def keeps_content(keep: Keep) -> bool:
    """Tell whether a policy keeps the bodies of steps."""
    return keep == "content"


def restrict(columns: Columns, keep: Keep) -> Columns:
    """Return the columns without what the policy does not keep."""
    if keep == "content":
        return columns
    if keep == "errors":
        return dataclasses.replace(columns, content=None)
    unknown = np.full_like(columns.steps.error_message, -1)
    steps = dataclasses.replace(columns.steps, error_message=unknown)
    return compact(dataclasses.replace(columns, content=None, steps=steps))

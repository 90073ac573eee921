"""Limits in bytes that the environment can set."""

import os

from tracegraph.errors import InputError


def limit_from(variable: str, default: int) -> int:
    """Return the limit that an environment variable sets, 0 for none.

    Raises:
        InputError: the variable holds no whole number.
    """
    text = os.environ.get(variable, "")
    if not text.strip():
        return default
    try:
        return max(0, int(text))
    except ValueError:
        raise InputError(f"{variable}={text}: not a whole number of bytes") from None

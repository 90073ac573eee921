"""The session of a trace: most of its steps repeat it, and some may contradict it."""

from collections.abc import Callable, Sequence
from typing import Any

CONFLICT = "sessions.conflicting_id"


def session_of(
    sessions: Sequence[str | None], rank: Callable[[int], tuple[Any, ...]]
) -> tuple[str | None, int]:
    """Return the session that a trace belongs to, and how many others its steps name.

    Args:
        sessions: what each step says, None where it says nothing.
        rank: of a step by its place; where steps disagree the one of the lowest rank is right, so
            a root has to come before the others.
    """
    named = {session for session in sessions if session is not None}
    if len(named) < 2:
        return next(iter(named), None), 0
    saying = (place for place, session in enumerate(sessions) if session is not None)
    return sessions[min(saying, key=rank)], len(named) - 1

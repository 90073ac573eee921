"""The name of a shell command: its first word, where it is plainly one command with a name."""

import re

_QUOTED = re.compile(r"""\\.|'[^']*+(?:'|$)|"(?:[^"\\]++|\\.)*+(?:"|\\?$)""")
"""What stands for itself; a quotation may go on in the next line."""
_JOINS = re.compile(r"[;|&()]")
_NAME = re.compile(r"[A-Za-z_][\w.+-]{0,63}(?=[ \t\r]|$)", re.ASCII)
"""What is longer than names of tools may be is none: names stay under every content policy."""


def command_name(action: str) -> str | None:
    """Return the name; None of a path, an assignment, or of several commands in the first line.

    What follows in further lines is the text that a command of the agent was given. Linear.
    """
    bare = _QUOTED.sub("'", action.strip().partition("\n")[0])
    name = _NAME.match(bare)
    return None if name is None or _JOINS.search(bare) else name[0]

"""What the readers of CrewAI's formats share: the area, and what may be told as a name."""

import re

AREA = "crewai"
_LONGEST = 200
_TYPE = re.compile(r"[\w.]{1,200}")
_NO_WORD = re.compile(r"[^a-z0-9]+")


def told_name(name: str | None) -> str | None:
    """Return the name of a task where it is one, and not the task itself.

    CrewAI says of a task without a name its whole description in place of the name. What is
    written as a name of Python is a name: the tasks of a project go by those of their methods.
    """
    return name if name is not None and name.isidentifier() and len(name) <= _LONGEST else None


def type_word(word: str | None) -> str | None:
    """Return what names the type of a failure, if it is a word and not what the failure says."""
    return word if word is not None and _TYPE.fullmatch(word) else None


def plain_name(name: str | None) -> str | None:
    """Return the name of a tool as CrewAI makes a function of it: models are told that one."""
    return name if name is None else _NO_WORD.sub("_", name.lower()).strip("_")

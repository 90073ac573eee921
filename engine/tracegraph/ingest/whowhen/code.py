"""How AutoGen's agents hand over code and report on it: fenced blocks, and the line of the report.

The forms are those of AG2's ``autogen.code_utils`` and ``ConversableAgent``, and of Magentic-One's
executor; both write the exit code of the process themselves, in front of what the code printed.
"""

import re

_FENCE = "```"
_REPORT = re.compile(
    r"exitcode: (-?\d{1,9}) \("
    r"|The script ran, then exited with Unix exit code: (-?\d{1,9})\s"
    r"|The script ran but produced no output to console\. The Unix exit code was: (-?\d{1,9})\."
)
_RUNNABLE = frozenset("python py sh bash shell pwsh powershell ps1 javascript js".split())
"""Languages that AG2 runs; other blocks are quotations as often as code."""

Block = tuple[str, str]
"""Language, blank where none is named, and code."""


def code_blocks(text: str) -> list[Block]:
    """Return the fenced blocks of a message; one that is never closed is none. Linear."""
    found: list[Block] = []
    language = ""
    inside: list[str] | None = None
    for line in text.split("\n"):
        if inside is None:
            _, fence, rest = line.rpartition(_FENCE)
            word = rest.strip()
            if fence and (not word or word.isidentifier()):
                language, inside = word, []
        elif line.lstrip(" \t").startswith(_FENCE):
            found.append((language, "\n".join(inside)))
            inside = None
        else:
            inside.append(line)
    return found


def is_runnable(block: Block) -> bool:
    """Tell whether a block names a language that an executor runs."""
    return block[0].lower() in _RUNNABLE


def exit_code(text: str) -> int | None:
    """Return the exit code that an executor's message begins with; None where it reports none."""
    report = _REPORT.match(text)
    return None if report is None else int(next(filter(None, report.groups())))

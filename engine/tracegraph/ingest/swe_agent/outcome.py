"""How a run ended: ``exit_status``, one word of the agent's own.

``submitted`` is the end that a run is to have. Words that name an error are failures. Others name a
limit (cost, context, time), or that somebody ended it: that is neither success nor failure.
Sources: SWE-agent 0.7 to 1.1 (``sweagent/agent/agents.py``), mini-swe-agent 1.17 and 2.4.
"""

import re
from typing import NamedTuple

from tracegraph.ingest.transcript.fields import Fields
from tracegraph.model.codes import STATUS_CODE

OK, ERROR, UNSET = STATUS_CODE["ok"], STATUS_CODE["error"], STATUS_CODE["unset"]
_WORD = re.compile(r"[A-Za-z_][\w.]{0,60}", re.ASCII)
_AFTER = re.compile(r"submitted \(([\w.]+)\)", re.ASCII)
"""What was there was submitted for the agent, after the word in brackets had ended it."""
_SUBMITTED = ("submitted", "Submitted")
_FAILED = frozenset(
    "exit_api exit_command_timeout exit_environment_error exit_error exit_format "
    "RepeatedFormatError".split()
)


class Outcome(NamedTuple):
    """How a run ended.

    Attributes:
        status: code of STATUSES.
        word: what ended it, None unknown.
        recorded: the status as it is written, None unknown.
    """

    status: int
    word: str | None = None
    recorded: str | None = None


def outcome_of(info: Fields, *, raised: bool = False) -> Outcome:
    """Read how a run ended.

    Gap code: ``swe_agent.unreadable_field``.

    Args:
        info: what is said of the run.
        raised: an exception ended it, which the status then names.
    """
    text = info.text("exit_status")
    if text is None:
        return Outcome(UNSET)
    after = _AFTER.fullmatch(text)
    word = after[1] if after is not None else text
    if not _WORD.fullmatch(word):
        info.refuse("exit_status", "is no word")
        return Outcome(ERROR if raised else UNSET)
    if word in _SUBMITTED:
        return Outcome(OK, word, text)
    return Outcome(ERROR if raised or word in _FAILED else UNSET, word, text)

"""The records of Who&When: one JSON document a run, whose members vary between the files.

Runs of AG2's CaptainAgent (``Algorithm-Generated``) and of Magentic-One (``Hand-Crafted``); the
data set is described in arXiv 2505.00212 and lies in ag2ai/Agents_Failure_Attribution on GitHub.
"""

from typing import Any

import msgspec
from msgspec import Struct

from tracegraph.errors import InputError
from tracegraph.ingest.attributes import dump
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.salvage import salvage
from tracegraph.ingest.tolerant_json import decode_json

AREA = "whowhen"
_LONGEST = 200
"""What is longer is no label but a text; labels stay under every content policy."""


class Log(Struct, gc=False):
    """A run: what was said in it, and what people found out about it afterwards.

    Attributes:
        history: the messages in order; ``mistake_step`` counts them from 0.
        question_id: of the task in its benchmark (GAIA, AssistantBench).
        is_correct: whether the answer was right; files with ``is_corrected`` mean the same.
    """

    history: list[Any]
    question_id: str | None = msgspec.field(default=None, name="question_ID")
    level: int | str | None = None
    is_correct: bool | None = None
    is_corrected: bool | None = None
    mistake_agent: str | None = None
    mistake_step: int | str | None = None


class Message(Struct, gc=False):
    """A message; only some runs have names in it."""

    role: str | None = None
    name: str | None = None
    content: Any = None


def read_log(data: bytes, place: str, losses: Losses) -> Log:
    """Decode a run, or what can be used of it.

    Gap codes: ``whowhen.unreadable_field``, and those of decode_json.

    Raises:
        InputError: it is no JSON, or holds no list of messages.
    """
    value = decode_json(data, place, losses)
    history = value.get("history") if isinstance(value, dict) else None
    if not isinstance(history, list):
        raise InputError(f"{place}: a run without a list of messages (history)")
    rest = {key: item for key, item in value.items() if key != "history"}
    log = salvage(Log, {**rest, "history": []}, place, AREA, losses)
    assert log is not None  # only the history is required
    log.history = history
    return log


def facts_of(log: Log, losses: Losses) -> str | None:
    """Return the labels of a run in the words of the data set, as a JSON object.

    Whether the answer was right is an evaluation of the run, as in every other format: it says
    nothing of how a step ended. The question, the right answer and the reason are texts and stay
    out. Gap code: ``whowhen.unreadable_field`` for a label that is a text.
    """
    step = log.mistake_step
    labels = {
        "question_ID": log.question_id,
        "level": log.level,
        "mistake_agent": log.mistake_agent,
        "mistake_step": str(step) if isinstance(step, int) else step,
    }
    known = {}
    for name, label in labels.items():
        if isinstance(label, str) and len(label) > _LONGEST:
            losses.add("whowhen.unreadable_field", f"{name} is longer than {_LONGEST} characters")
        elif label is not None:
            known[name] = label
    verdicts = {"is_correct": log.is_correct, "is_corrected": log.is_corrected}
    evaluations = [
        {"name": name, "label": "true" if verdict else "false"}
        for name, verdict in verdicts.items()
        if verdict is not None
    ]
    facts = {**known, "evaluations": evaluations} if evaluations else known
    return dump(facts) if facts else None

"""Small traces written as text, and the matches of a pattern in them as text.

One step a line, blank lines between traces::

    id KIND [name] [status] [@start-end] [field=value ..] [/ parent] [<- cause[:origin] ..]

Times are seconds, ``?`` is unknown; a status that is not written is ok; ``/`` is a span parent, and
a cause without an origin is an edge of the format (declared).
"""

from collections.abc import Iterator

from tracegraph.model.codes import KIND_CODE, SIGNAL_BIT, STATUS_CODE
from tracegraph.model.columns import Columns
from tracegraph.model.draft import Draft
from tracegraph.model.seal import seal
from tracegraph.pattern.embedder import Embedder
from tracegraph.pattern.finish import finish
from tracegraph.pattern.load import load_adhoc
from tracegraph.pattern.matcher import match_rows
from tracegraph.pattern.plan import plan
from tracegraph.pattern.result import Match, MatchSet, Position

SECOND = 1_000_000_000
_NUMBERS = ("tokens_prompt", "tokens_completion", "tokens_total", "docs", "duration")
_FLAGS = ("wrapper", "orphan")


def traces(text: str, *, sessions: str = "", content: bool = False, prefix: str = "t") -> Columns:
    """Make columns of traces ``t0``, ``t1``, ..; ``sessions`` names the session of each."""
    draft = Draft(keep_content=content)
    session = sessions.split()
    for number, block in enumerate(text.strip("\n").split("\n\n")):
        held = session[number] if number < len(session) and session[number] != "?" else None
        draft.begin(f"{prefix}{number}", source="test", file="f", session_id=held)
        lines = [line.split() for line in block.splitlines() if line.strip()]
        rows = {words[0]: _step(draft, words) for words in lines}
        for words in lines:
            for cause, origin in _causes(words):
                draft.link(rows[words[0]], rows[cause], origin)
    return seal(draft)


def _step(draft: Draft, words: list[str]) -> int:
    step_id, kind, *rest = words
    status, fields = STATUS_CODE["ok"], dict[str, object]()
    for place, word in enumerate(rest):
        if word in ("/", "<-"):
            break
        if word in STATUS_CODE:
            status = STATUS_CODE[word]
        elif word.startswith("@"):
            start, end = word[1:].split("-")
            fields |= {"start": _time(start), "end": _time(end)}
        elif "=" in word:
            key, _, value = word.partition("=")
            fields[key] = _field(key, value)
        else:
            assert place == 0, f"a second name in {words}"
            fields["name"] = word
    return draft.step(step_id, kind=KIND_CODE[kind], status=status, **fields)  # type: ignore[arg-type]


def _field(key: str, value: str) -> object:
    if key in _NUMBERS:
        return int(value)
    if key in _FLAGS:
        return value == "yes"
    if key == "signals":
        return sum(SIGNAL_BIT[signal] for signal in value.split(","))
    return value


def _time(word: str) -> int:
    return -1 if word == "?" else int(float(word) * SECOND)


def _causes(words: list[str]) -> Iterator[tuple[str, str]]:
    sign = ""
    for word in words[2:]:
        if word in ("/", "<-"):
            sign = word
        elif sign == "/":
            yield word, "span_parent"
        elif sign == "<-":
            cause, _, origin = word.partition(":")
            yield cause, origin or "edge"


def answer(pattern: str, columns: Columns, embedder: Embedder | None = None) -> MatchSet:
    """Match a pattern of trace scope."""
    planned = plan(load_adhoc(pattern))
    rows = match_rows(planned, columns, embedder=embedder)
    return finish(planned, rows, columns, embedder=embedder)


def find(pattern: str, columns: Columns, embedder: Embedder | None = None) -> list[str]:
    """Return the matches as text: ``a b`` is confirmed, ``a b?`` possible, ``[a b]`` a run."""
    return [written(match, columns) for match in answer(pattern, columns, embedder)]


def written(match: Match, columns: Columns) -> str:
    """Write a match; members of a row of ``having`` stand in braces."""
    text = _steps(match.steps, columns)
    if match.members is not None:
        text = "{" + ", ".join(_steps(member, columns) for member in match.members) + "}"
    return text + ("" if match.certainty == "confirmed" else "?")


def _steps(steps: tuple[Position, ...], columns: Columns) -> str:
    positions: list[list[str]] = []
    runs: list[bool] = []
    for step in steps:
        if step.run_index:
            positions[-1].append(columns.step_id[step.row])
        else:
            positions.append([columns.step_id[step.row]])
            runs.append(step.run_index is not None)
    return " ".join(
        f"[{' '.join(ids)}]" if run else ids[0] for ids, run in zip(positions, runs, strict=True)
    )

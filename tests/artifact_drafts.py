"""Random drafts that hold everything that an artifact can say."""

import json
from typing import Any

from hypothesis import strategies as st

from tracegraph.model.codes import (
    EVIDENCE,
    FIDELITIES,
    KINDS,
    ORIGINS,
    SIGNALS,
    STATUSES,
)
from tracegraph.model.draft import Draft

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
_NAME = st.none() | TEXT
_COUNT = st.just(-1) | st.integers(0, 2**63 - 1)
_TIME = st.just(-1) | st.integers(0, 40) | st.integers(0, 2**63 - 1)
_COST = st.none() | st.from_regex(r"\d{1,6}(\.\d{1,8})?([eE]-?\d)?", fullmatch=True).map(
    lambda text: text if text.isascii() else "0.10"
)
_WORDS = st.none() | st.sets(st.sampled_from(["args", "kind", "name", "result"]), min_size=1).map(
    lambda words: ",".join(sorted(words))
)
_OBJECT = st.none() | st.dictionaries(
    TEXT, st.integers() | TEXT | st.floats(allow_nan=False, allow_infinity=False), max_size=2
)


def _step() -> st.SearchStrategy[dict[str, Any]]:
    texts = (
        "name status_source agent model error_type error_message tool_call_id args result "
        "input output"
    ).split()
    counts = "tokens_prompt tokens_completion tokens_total docs duration".split()
    return st.fixed_dictionaries(
        {
            "kind": st.sampled_from(range(len(KINDS))),
            "status": st.sampled_from(range(len(STATUSES))),
            "start": _TIME,
            "end": _TIME,
            "cost": _COST,
            "signals": st.integers(0, 2 ** len(SIGNALS) - 1),
            "wrapper": st.booleans(),
            "orphan": st.booleans(),
            "unknown_fields": _WORDS,
            "attributes": _OBJECT.map(_json),
            **dict.fromkeys(texts, _NAME),
            **dict.fromkeys(counts, _COUNT),
        }
    )


def _json(value: dict[str, Any] | None) -> str | None:
    return None if value is None else json.dumps(value)


@st.composite
def drafts(draw: st.DrawFn) -> Draft:
    """Draw a draft of one to three traces with content."""
    draft = Draft(keep_content=True)
    for number in range(draw(st.integers(1, 3))):
        first = draft.begin(
            f"trace {number}",
            source=draw(TEXT.filter(bool)),
            file=draw(TEXT.filter(bool)),
            file_digest=draw(_NAME),
            run_id=draw(_NAME),
            session_id=draw(_NAME),
            agent=draw(_NAME),
            fidelity=draw(st.sampled_from(range(len(FIDELITIES)))),
            contained=draw(st.booleans()),
            status=draw(st.sampled_from([-1, 0, 1, 2])),
            attributes=_json(draw(_OBJECT)),
            gaps=draw(st.dictionaries(st.sampled_from(["a.b", "c.d"]), st.integers(1, 9))),
        )
        size = draw(st.integers(0, 5))
        for at in range(size):
            draft.step(f"s{at}", **draw(_step()))
        if size:
            row = st.integers(first, first + size - 1)
            for _ in range(draw(st.integers(0, 7))):
                draft.link(
                    draw(row),
                    draw(row),
                    draw(st.sampled_from(ORIGINS)),
                    draw(st.none() | st.integers(1, len(EVIDENCE) - 1)),
                )
    return draft

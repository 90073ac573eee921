"""``needs``: which traces cannot be judged because they lack what a pattern reads."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tracegraph.model.codes import KIND_CODE, STATUS_CODE
from tracegraph.model.columns import Columns, Mask
from tracegraph.pattern.ground import Ground
from tracegraph.pattern.operands import possible_end


@dataclass(frozen=True, slots=True)
class _Feature:
    """Which steps could carry something, and which do."""

    carriers: Callable[[Columns], Mask]
    carried: Callable[[Columns], Mask]


def lacking(needs: Sequence[str], ground: Ground) -> tuple[dict[int, tuple[str, ...]], Mask]:
    """Judge the units.

    Returns:
        For each trace that is not evaluable what it lacks, and which units may hold matches: those
        that have steps that could carry each need and, of those, some that do.
    """
    columns = ground.columns
    unit = ground.unit_of(np.arange(columns.step_count))
    count = len(ground.unit_offsets) - 1
    usable = np.ones(count, dtype=bool)
    lacks: dict[int, list[str]] = {}
    for need in dict.fromkeys(needs):
        feature = _FEATURES[need]
        carriers = feature.carriers(columns)
        able = np.bincount(unit[carriers], minlength=count) > 0
        done = np.bincount(unit[carriers & feature.carried(columns)], minlength=count) > 0
        usable &= done
        for number in np.flatnonzero(able & ~done).tolist():
            lacks.setdefault(number, []).append(need)
    result = {
        trace: tuple(lacks[number])
        for trace, number in enumerate(ground.units.tolist())
        if number in lacks
    }
    return result, usable


def _kinds(*kinds: str) -> Callable[[Columns], Mask]:
    codes = [KIND_CODE[kind] for kind in kinds]
    return lambda columns: np.isin(columns.steps.kind, codes)


def _any(columns: Columns) -> Mask:
    return np.ones(columns.step_count, dtype=bool)


def _known(*names: str) -> Callable[[Columns], Mask]:
    return lambda columns: np.logical_or.reduce([getattr(columns.steps, n) >= 0 for n in names])


def _failing(columns: Columns) -> Mask:
    return np.asarray(columns.steps.status == STATUS_CODE["error"])


def _timed(columns: Columns) -> Mask:
    end = possible_end(np.arange(columns.step_count), columns)
    return np.asarray((columns.steps.start >= 0) | (end >= 0))


def _with_content(columns: Columns) -> Mask:
    if columns.content is None:
        return np.zeros(columns.step_count, dtype=bool)
    bodies = zip(columns.content.input[:], columns.content.output[:], strict=True)
    return np.array([one is not None or other is not None for one, other in bodies], dtype=bool)


_FEATURES = {
    "args": _Feature(_kinds("TOOL"), _known("args")),
    "results": _Feature(_kinds("TOOL"), _known("result")),
    "tokens": _Feature(_kinds("LLM"), _known("tokens_prompt", "tokens_completion", "tokens_total")),
    "docs": _Feature(_kinds("RETRIEVER"), _known("docs")),
    "tool-call-ids": _Feature(_kinds("LLM", "TOOL"), _known("tool_call_id")),
    "agents": _Feature(_kinds("AGENT"), _known("agent")),
    "times": _Feature(_any, _timed),
    "errors": _Feature(_failing, _known("error_type", "error_message")),
    "content": _Feature(_any, _with_content),
    "models": _Feature(_kinds("LLM"), _known("model")),
}
"""What ``needs`` knows, by the words of :data:`tracegraph.pattern.fields.FEATURES`."""

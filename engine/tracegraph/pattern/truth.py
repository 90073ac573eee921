"""Kleene truth of predicates over many bindings at once.

Truth is an int8 array with one value per line: 0 false, 1 unknown, 2 true. So ``and`` is the
minimum, ``or`` the maximum and ``not x`` is ``2 - x``.
"""

import json
import operator
from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from tracegraph.errors import UnsupportedPatternError
from tracegraph.model.codes import KIND_CODE, KINDS, SIGNAL_BIT, STATUS_CODE, STATUSES
from tracegraph.model.columns import Array, Mask
from tracegraph.pattern.ast import (
    And,
    Compare,
    Contains,
    Duration,
    Expr,
    In,
    Known,
    Like,
    Matches,
    Not,
    Number,
    Or,
    Param,
    Scaled,
    Similar,
    Text,
    Value,
    Word,
)
from tracegraph.pattern.fields import FieldType
from tracegraph.pattern.operands import Frame, Values, values_of
from tracegraph.pattern.regex import glob_to_python, to_python
from tracegraph.pattern.texts import Texts

Truth = npt.NDArray[np.int8]

FALSE, UNKNOWN, TRUE = 0, 1, 2

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_MIRRORED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def truth_of(expr: Expr, frame: Frame) -> Truth:  # noqa: PLR0911 - one per kind of node
    """Return the truth of a predicate on each line of a frame."""
    match expr:
        case And(items):
            return reduce(np.minimum, (truth_of(item, frame) for item in items))
        case Or(items):
            return reduce(np.maximum, (truth_of(item, frame) for item in items))
        case Not(item):
            return (TRUE - truth_of(item, frame)).astype(np.int8)
        case Compare(left, op, right):
            return _compare(left, op, right, frame)
        case In(operand, constants):
            values = values_of(operand, frame)
            hits = [_against(values, "==", constant, frame) for constant in constants]
            return reduce(np.maximum, hits)
        case Known(operand, wanted):
            known = values_of(operand, frame).known
            return kleene(known == wanted, np.ones_like(known))
        case Like(operand, glob):
            regex = glob_to_python(_text(glob))
            return _search(values_of(operand, frame), lambda text: bool(regex.search(text)), frame)
        case Matches(operand, source, ignore_case):
            regex = to_python(source, ignore_case)
            return _search(values_of(operand, frame), lambda text: bool(regex.search(text)), frame)
        case Contains(operand, part):
            return _contains(values_of(operand, frame), _text(part), frame)
        case Similar():
            return _similar(expr, frame)


def kleene(holds: Mask, known: Mask) -> Truth:
    """Return true or false where known, else unknown."""
    truth = holds.astype(np.int8) * np.int8(TRUE)
    truth[~known] = UNKNOWN
    return truth


def glob_truth(glob: str, values: Values, frame: Frame) -> Truth:
    """Return the truth of a name glob."""
    regex = glob_to_python(glob)
    return _search(values, lambda text: bool(regex.search(text)), frame)


def as_texts(values: Values, texts: Texts) -> Array:
    """Return text values as objects; what stands where nothing is known means nothing."""
    if values.coded:
        return texts.texts(values.data)
    result = np.empty(len(values.data), dtype=object)
    result[:] = [
        value if isinstance(value, str) else "" if value is None else json.dumps(value)
        for value in values.data
    ]
    return result


def _compare(left: Scaled, op: str, right: Scaled, frame: Frame) -> Truth:
    if isinstance(right, Value):
        if isinstance(left, Value):
            raise UnsupportedPatternError("two constants are compared with each other")
        return _against(values_of(left, frame), op, right, frame)
    if isinstance(left, Value):
        return _against(values_of(right, frame), _MIRRORED[op], left, frame)
    one, other = values_of(left, frame), values_of(right, frame)
    known = one.known & other.known
    if one.coded and other.coded and (one.type != "text" or op in ("==", "!=")):
        return kleene(np.asarray(_COMPARE[op](one.data, other.data), dtype=bool), known)
    pairs = zip(_plain(one, frame), _plain(other, frame), known, strict=True)
    return _each(pairs, op)


def _against(values: Values, op: str, constant: Value, frame: Frame) -> Truth:
    """Compare values with a constant."""
    if not values.coded:
        plain = _python(constant)
        return _each(
            ((value, plain, known) for value, known in zip(values.data, values.known, strict=True)),
            op,
        )
    if isinstance(constant, Text) and op not in ("==", "!="):
        holds = frame.texts.test(values.data, lambda text: _COMPARE[op](text, constant.value))
    else:
        holds = _COMPARE[op](values.data, _constant(constant, values.type, frame))
    return kleene(np.asarray(holds, dtype=bool), values.known)


def _python(constant: Value) -> str | int | float | bool:
    match constant:
        case Number(value):
            return value
        case Duration(ns):
            return ns
        case Word("true" | "false" as word):
            return word == "true"
        case Text(text) | Word(text):
            return text
        case Param(name):
            raise UnsupportedPatternError(f"@{name} has no value")


def _constant(constant: Value, kind: FieldType, frame: Frame) -> int | float | bool:
    """Return the code or number under which a constant is stored in a column of a type."""
    match constant:
        case Number(value):
            return value
        case Duration(ns):
            return ns
        case Text(text):
            return frame.texts.code(text)
        case Word(word) if kind == "bool":
            return word == "true"
        case Word(word) if kind == "kind":
            return KIND_CODE[word]
        case Word(word):
            return STATUS_CODE[word]
        case Param(name):
            raise UnsupportedPatternError(f"@{name} has no value")


def _each(pairs: Iterable[tuple[Any, Any, bool]], op: str) -> Truth:
    """Compare value by value; what has another type than its partner is unknown."""
    return np.array(
        [
            (TRUE if _COMPARE[op](one, other) else FALSE)
            if known and _comparable(one, other)
            else UNKNOWN
            for one, other, known in pairs
        ],
        dtype=np.int8,
    )


def _plain(values: Values, frame: Frame) -> Iterable[Any]:
    """Return values as Python objects, texts and words written out."""
    if not values.coded:
        return values.data
    if values.type == "text":
        return frame.texts.texts(values.data)
    words = {"kind": KINDS, "status": STATUSES}.get(values.type)
    return values.data.tolist() if words is None else [words[code] for code in values.data]


def _comparable(one: Any, other: Any) -> bool:
    for kind in (bool, str):
        if isinstance(one, kind) or isinstance(other, kind):
            return isinstance(one, kind) and isinstance(other, kind)
    return isinstance(one, int | float) and isinstance(other, int | float)


def _search(values: Values, holds: Callable[[str], bool], frame: Frame) -> Truth:
    if values.coded:
        return kleene(frame.texts.test(values.data, holds), values.known)
    texts = as_texts(values, frame.texts)
    passed = np.array([holds(text) for text in texts], dtype=bool)
    return kleene(passed, values.known)


def _contains(values: Values, part: str, frame: Frame) -> Truth:
    if values.type == "signals":
        return kleene(values.data & SIGNAL_BIT[part] != 0, values.known)
    return _search(values, lambda text: part in text, frame)


def _similar(expr: Similar, frame: Frame) -> Truth:
    assert frame.embedder is not None  # the matcher refuses the pattern otherwise
    values = values_of(expr.operand, frame)
    distinct, places = np.unique(
        as_texts(values, frame.texts)[values.known].astype(str), return_inverse=True
    )
    vectors = frame.embedder([expr.text, *distinct.tolist()]).astype(np.float64)
    lengths = np.linalg.norm(vectors, axis=1)
    vectors /= np.where(lengths > 0, lengths, 1)[:, None]
    holds = np.zeros(len(values.data), dtype=bool)
    cosine = vectors[1:] @ vectors[0]
    holds[values.known] = _COMPARE[expr.op](cosine, expr.threshold)[places]
    return kleene(holds, values.known)


def _text(node: Text | Param) -> str:
    if isinstance(node, Param):
        raise UnsupportedPatternError(f"@{node.name} has no value")
    return node.value

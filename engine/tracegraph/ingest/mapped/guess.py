"""Which column is plainly meant for which field: by its name, if what it holds bears that out."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from tracegraph.ingest.mapped import values
from tracegraph.ingest.mapped.ids import Ids
from tracegraph.ingest.mapped.sample import Column, Sample
from tracegraph.ingest.mapped.words import FIELDS, KIND_WORDS, NAMES, STATUS_WORDS, plain
from tracegraph.model.codes import KIND_CODE

_SUFFIXES: Final = {"ms": "ms", "us": "us", "ns": "ns", "s": "s", "secs": "s", "seconds": "s"}
_FAILURES: Final = frozenset("error is_error failed failure has_error errored".split())
_SUCCESSES: Final = frozenset("ok success succeeded successful passed is_success".split())
_YES: Final = frozenset({"true", "1"})
_NO: Final = frozenset({"false", "0"})
_TELLING: Final = frozenset(
    "trace_id run_id session_id tokens_prompt tokens_completion tokens_total tool_call_id".split()
)
_TOOLS: Final = frozenset("tool tool_name function function_name".split())
_LENGTHS: Final = frozenset("duration latency elapsed took runtime response_time".split())
"""What a duration is called that does not say its unit."""
_ROOTS: Final = frozenset({"0", "-1", "root"})
_SEPARATORS: Final = (";", "|", ",", " ")
_ORDER: Final = ("trace_id", "run_id", "session_id", *(f for f in FIELDS if not f.endswith("_id")))
"""Ids of steps come last: they are those that are different in every record of a trace."""


_Fits = Callable[[Column, str, Sample, "Guess"], bool]
"""Tells of a column, the name that it goes by, the sample and what was assigned so far."""


@dataclass(slots=True)
class Guess:
    """What a template assigns.

    Attributes:
        fields: the column of each field.
        units: of the duration.
        statuses: values by status, as the log writes them.
        kinds: values by kind.
        default_kind: the kind of every record, where each names its tool and none its kind.
        unknown: values of ``status`` and ``kind`` that nothing says the meaning of.
        has_parts: records with one id are parts of one step.
        repeated: the column of ids of which some are in several records, that are not parts.
        roots: values in the place of a parent that say that there is none.
        separator: between the ids of causes.
        nothing: texts that stand for no value.
    """

    fields: dict[str, Column] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    statuses: dict[str, list[Any]] = field(default_factory=dict)
    kinds: dict[str, list[Any]] = field(default_factory=dict)
    default_kind: str | None = None
    unknown: dict[str, list[Any]] = field(default_factory=dict)
    has_parts: bool = False
    repeated: Column | None = None
    roots: list[Any] = field(default_factory=list)
    separator: str | None = None
    nothing: list[str] = field(default_factory=list)


def guess(sample: Sample) -> Guess:
    """Assign the columns that are plainly meant."""
    found = Guess()
    rest = tuple(name for name in FIELDS if name not in _ORDER)
    _assign(found, sample, (*_ORDER, *rest))
    _read_ids(found, sample)
    if "trace_id" not in found.fields:
        for other in ("run_id", "session_id"):
            if other in found.fields:
                found.fields["trace_id"] = found.fields[other]
                break
    found.fields = {name: found.fields[name] for name in FIELDS if name in found.fields}
    _read_words(found)
    called = found.fields.get("name")
    if called is not None and "kind" not in found.fields and plain(called.keys[-1]) in _TOOLS:
        found.default_kind = "TOOL" if len(called.values) == len(sample.records) else None
    _read_relations(found)
    found.nothing = sorted({text for each in found.fields.values() for text in each.nothing})
    return found


def _assign(
    found: Guess, sample: Sample, names: tuple[str, ...], but: frozenset[str] = frozenset()
) -> None:
    """Give each of the fields the first column that is free, named so, and fits."""
    fits = _fits()
    taken = {column.keys for column in found.fields.values()}
    for name in names:
        for word, column in _candidates(name, sample):
            is_free = column.keys not in taken and column.keys[-1] not in but
            if is_free and column.values and fits[name](column, word, sample, found):
                found.fields[name] = column
                taken.add(column.keys)
                break


def _read_ids(found: Guess, sample: Sample) -> None:
    """Find the ids that the parents name, and whether they stand in several records.

    Where no column holds the ids of steps, no column names parents or causes.
    """
    fields = found.fields
    if "parent" in fields:
        named = {values.text(v) for v in fields["parent"].values} - _ROOTS
        own = fields.get("step_id")
        if own is None or not _holds(own, named):
            fitting = (c for c in _free(found, sample) if _holds(c, named))
            own = next((c for c in fitting if _is_id(c, "", sample, found)), own)
        if own is not None:
            fields["step_id"] = own
    if "step_id" not in fields:
        fields.pop("parent", None)
        fields.pop("causes", None)
        called = (column for _, column in _candidates("step_id", sample))
        found.repeated = next((c for c in called if _ids(c, sample, found).repeat), None)
        return
    ids = _ids(fields["step_id"], sample, found)
    if ids.in_parts:
        _read_parts(found, sample, ids.phases)
    elif ids.repeat:
        found.repeated = fields["step_id"]


def _read_parts(found: Guess, sample: Sample, phases: frozenset[str]) -> None:
    """Assign what a step whose start and end are two records has otherwise."""
    found.has_parts = True
    fields = found.fields
    for name in ("name", "kind"):  # the word for a start is no name
        if name in fields and fields[name].keys[-1] in phases:
            del fields[name]
            _assign(found, sample, (name,), phases)
    if "start" in fields and not fields.keys() & {"end", "duration"}:
        fields["end"] = fields["start"]


def _free(found: Guess, sample: Sample) -> Iterator[Column]:
    """Yield the columns that no field takes, or the name does."""
    taken = [
        column.keys for name, column in found.fields.items() if name not in ("name", "step_id")
    ]
    return (column for keys, column in sample.columns.items() if keys not in taken)


def _ids(column: Column, sample: Sample, found: Guess) -> Ids:
    trace = found.fields.get("trace_id") or found.fields.get("run_id")
    return Ids(column, trace, sample)


def _holds(column: Column, named: set[str | None]) -> bool:
    """Tell whether a column holds most of the ids that are named."""
    here = set(map(values.text, column.values)) & named - {None}
    return bool(named) and 2 * len(here) >= len(named)


def unit_of(name: str) -> str | None:
    """Return the unit that the name of a duration says, None where it says none."""
    return _SUFFIXES.get(plain(name).rpartition("_")[2])


def is_length(name: str) -> bool:
    """Tell whether a column is called a duration, whatever its unit."""
    return plain(name) in _LENGTHS


def _candidates(field_name: str, sample: Sample) -> Iterator[tuple[str, Column]]:
    """Yield the columns that have one of the names of a field, the plainest name first.

    A member of an object counts with the name of the object before it (``error.type``), and by its
    name alone if that says enough (``usage.input_tokens``).
    """
    called: dict[str, list[Column]] = {}
    for keys, column in sample.columns.items():
        own, whole = plain(keys[-1]), "_".join(map(plain, keys[-2:]))
        names = {own, whole} if len(keys) == 1 or field_name in _TELLING else {whole}
        for name in names:
            called.setdefault(name, []).append(column)
    for word in NAMES[field_name].split():
        for column in sorted(called.get(word, []), key=lambda column: len(column.keys)):
            yield word, column


def _fits() -> dict[str, _Fits]:
    """Return for each field what tells whether the values of a column can be its values."""
    texts = _mostly(lambda value: isinstance(value, str))
    scalars = _mostly(lambda value: not isinstance(value, bool) and values.text(value) is not None)
    moments = _mostly(lambda value: values.time(value, None) is not None)
    whole = _mostly(lambda value: values.whole(value) is not None)
    own: dict[str, _Fits] = {
        "step_id": _is_id,
        "causes": _mostly(lambda value: bool(values.ids(value, None)[0])),
        "kind": _is_kind,
        "status": _is_status,
        "error_message": _mostly(_says_what_failed),
        "start": moments,
        "end": moments,
        "duration": _mostly(lambda value: values.number(value) is not None),
        "cost": _mostly(lambda value: values.cost(value) is not None),
        "args": _mostly(lambda value: True),
        "result": _mostly(lambda value: True),
        "docs": _mostly(lambda value: values.count(value) is not None),
        "name": texts,
        "model": texts,
        "error_type": texts,
    }
    own |= dict.fromkeys(("tokens_prompt", "tokens_completion", "tokens_total"), whole)
    return {name: own.get(name, scalars) for name in FIELDS}


def _mostly(holds: Callable[[Any], bool]) -> _Fits:
    def fits(column: Column, word: str, sample: Sample, found: Guess) -> bool:
        return 2 * sum(map(holds, column.values)) > len(column.values)

    return fits


def _says_what_failed(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, str) and values.number(value) is None)


def _is_id(column: Column, word: str, sample: Sample, found: Guess) -> bool:
    """Tell whether no two records of a trace have the same, or two that are start and end."""
    ids = _ids(column, sample, found)
    return ids.are_unique or ids.in_parts


def _is_kind(column: Column, word: str, sample: Sample, found: Guess) -> bool:
    known = sum(_kind_of(word) is not None for word in column.words)
    return column.is_vocabulary and 2 * known >= len(column.words)


def _is_status(column: Column, word: str, sample: Sample, found: Guess) -> bool:
    if word in _FAILURES:  # a text in it is an error, not a word for one
        return bool(column.words) and column.words.keys() <= _YES | _NO
    return column.is_vocabulary and any(_status_of(each, word) for each in column.words)


def _kind_of(word: str) -> str | None:
    known = plain(word)
    return next((kind for kind, words in KIND_WORDS.items() if known in words.split()), None)


def _status_of(word: str, column: str) -> str | None:
    if word in _YES | _NO and column in _FAILURES | _SUCCESSES:
        return "ok" if (word in _YES) == (column in _SUCCESSES) else "error"
    known = plain(word)
    return next((status for status, words in STATUS_WORDS.items() if known in words.split()), None)


def _read_words(found: Guess) -> None:
    """Assign the words of statuses and kinds, and keep those that nothing is known of."""
    if "status" in found.fields:
        column = found.fields["status"]
        for word, value in column.words.items():
            status = _status_of(word, plain(column.keys[-1]))
            _file(found, "status", found.statuses, status, value)
    if "kind" in found.fields:
        for word, value in found.fields["kind"].words.items():
            kind = _kind_of(word)
            if kind is None or word.upper() not in KIND_CODE:
                _file(found, "kind", found.kinds, kind, value)
    if "duration" in found.fields:
        unit = unit_of(found.fields["duration"].keys[-1])
        if unit is not None:
            found.units["duration"] = unit


def _file(
    found: Guess, name: str, words: dict[str, list[Any]], meaning: str | None, value: Any
) -> None:
    (found.unknown if meaning is None else words).setdefault(meaning or name, []).append(value)


def _read_relations(found: Guess) -> None:
    """Find what stands for no parent, and what separates causes."""
    own = found.fields.get("step_id")
    ids = {values.text(value) for value in own.values} if own else set()
    if "parent" in found.fields:
        words = found.fields["parent"].words.items()
        found.roots = [v for word, v in words if word in _ROOTS and values.text(v) not in ids]
    causes = found.fields.get("causes")
    texts = [value for value in causes.values if isinstance(value, str)] if causes else []
    for separator in _SEPARATORS:
        parts = [t.split(separator) for t in texts if separator in t and t not in ids]
        if parts and all(part.strip() in ids for each in parts for part in each):
            found.separator = separator
            return

"""Write a mapping to start from: what is plainly meant is assigned, the rest is named.

The same log gives the same text. Of the values of a log only the words of its statuses and kinds
are in it, which somebody has to give a meaning.
"""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any, Final

from tracegraph.ingest.mapped.field_map import PARTS
from tracegraph.ingest.mapped.guess import Guess, guess, is_length
from tracegraph.ingest.mapped.path import ColumnPath, parse_path
from tracegraph.ingest.mapped.sample import Column, Sample, sample_of
from tracegraph.ingest.mapped.unused import UnusedColumns
from tracegraph.ingest.mapped.words import FIELDS, plain
from tracegraph.ingest.source import Source
from tracegraph.model.codes import KINDS

_WORD: Final = re.compile(r"[\w .:/-]{1,40}")
_CONTROL: Final = re.compile("[\x7f-\x9f]")
_SHOWN: Final = 20
_SEQUENCE: Final = frozenset("step steps prev previous predecessor before".split())
"""Words in the name of a parent that may mean what came before, not what contains."""


def template(source: Source) -> str:
    """Return a mapping for a log, as TOML with explanations.

    Raises:
        InputError: it holds no record, or cannot be read.
    """
    sample = sample_of(source)
    return "\n".join(_lines(source.name, sample, guess(sample))) + "\n"


def _lines(name: str, sample: Sample, found: Guess) -> Iterator[str]:
    file = _comment(PurePosixPath(name).name)
    count = len(sample.records)
    yield f"# How tracegraph reads {file}: made from its first {count} records ({sample.shape})."
    yield "# Change it where it is wrong, then:"
    yield f"#   tracegraph ingest {shlex.quote(file)} --map THIS_FILE --into corpus"
    yield from (f"# {note}" for note in sample.notes)
    yield "# Left a field of a step, right the column that gives it, or a path into a column:"
    yield '# usage.input_tokens, messages[0].text; "a.b" in quotes where a name holds a dot.'
    yield "version = 1"
    yield from _unused(sample, found)
    yield '# labels = ["env"]   # columns to keep as text with the trace: never a prompt'
    yield ""
    yield "[fields]"
    for field in FIELDS:
        if field in found.fields:
            yield f"{field} = {_toml(found.fields[field].text)}{_remark(field, found)}"
    open_fields = [field for field in FIELDS if field not in found.fields]
    yield from _wrapped("no column: ", open_fields)
    if "duration" not in found.fields:
        for text in (column.text for keys, column in sample.columns.items() if is_length(keys[-1])):
            yield f"# duration = {_toml(text)}   # and its unit below: [units] duration = ..."
    yield from _relations(found)
    yield from _units(found)
    yield from _words(found)
    yield from _source(sample, found)


def _unused(sample: Sample, found: Guess) -> Iterator[str]:
    used = [parse_path(column.text) for column in found.fields.values()]
    columns = [text for text, _ in _left(sample, used)]
    if not columns:
        yield "unused = []   # every column is assigned"
        return
    yield "unused = [   # columns that no field takes; this list is for you and is not read"
    for text, column in _left(sample, used):
        has = f"in {len(column.values)} of {len(sample.records)} records"
        yield f"    {_toml(text)},   # {_kind(column)}, {has}"
    yield "]"


def _left(sample: Sample, used: list[ColumnPath]) -> list[tuple[str, Column]]:
    """Return the columns that are left, as the report of ``ingest`` names them."""
    unused = UnusedColumns(used)
    for record in sample.records:
        unused.note(record)
    by_text = {column.text: column for column in sample.columns.values()}
    listed = [(text, by_text.get(text, Column(()))) for text in unused.columns]
    seen = {text for text, _ in listed} | {path.text for path in used}
    blank = [c for keys, c in sample.columns.items() if len(keys) == 1 and c.text not in seen]
    tops = {path.keys[0] for path in used}
    return listed + [(c.text, c) for c in blank if c.keys[0] not in tops]


def _remark(field: str, found: Guess) -> str:
    column = found.fields[field]
    if field == "trace_id" and column in (
        found.fields.get("run_id"),
        found.fields.get("session_id"),
    ):
        return "   # each of them is read as one trace"
    if field == "end" and column == found.fields.get("start"):
        return "   # of the first record with an id its start, of the last its end"
    if field == "start" and "end" not in found.fields:
        return "   # if your program writes this when a step is over, call it end"
    return ""


def _relations(found: Guess) -> Iterator[str]:
    if "parent" in found.fields:
        yield ""
        yield "[parent]"
        tokens = plain(found.fields["parent"].keys[-1]).split("_")
        if _SEQUENCE.isdisjoint(tokens):
            yield 'is = "container"   # "cause" if a parent came before and led to the step'
        else:
            yield "# its name does not tell which of the two it is: take away one #"
            yield '# is = "container"   # a parent contains its steps'
            yield '# is = "cause"       # a parent came before and led to the step'
        if found.roots:
            yield f"none = {_toml(found.roots)}   # say that there is no parent"
    if found.has_parts:
        yield ""
        yield "[rows]"
        yield f'same_id = "{PARTS}"   # an id is in two records, its start and its end: one step'
    elif found.repeated is not None:
        yield ""
        yield f"# several records have one value of {_comment(found.repeated.text)}; if they are"
        yield "# parts of one step, it is the step_id, and:"
        yield "# [rows]"
        yield f'# same_id = "{PARTS}"'
    if found.separator is not None:
        yield ""
        yield "[causes]"
        yield f"separator = {_toml(found.separator)}"


def _units(found: Guess) -> Iterator[str]:
    if "duration" in found.fields:
        yield ""
        yield "[units]   # s, ms, us or ns; of start and end also iso; else told by their size"
        yield f"duration = {_toml(found.units['duration'])}"


def _words(found: Guess) -> Iterator[str]:
    if "status" in found.fields:
        yield ""
        yield "[status]   # other words leave the status unset, and are counted"
        for status, held in sorted(found.statuses.items(), reverse=True):
            yield f"{status} = {_toml(held)}"
        yield from _unknown("status", found)
    if "kind" in found.fields:
        yield ""
        yield f"[kind]   # {' '.join(KINDS[1:])}"
        for kind, held in sorted(found.kinds.items()):
            yield f"{kind} = {_toml(held)}"
        yield from _unknown("kind", found)
    elif found.default_kind is not None:
        yield ""
        yield "[kind]"
        yield f"default = {_toml(found.default_kind)}   # every record names a tool"
    else:
        yield ""
        yield "# [kind]"
        yield '# default = "TOOL"   # if every record is a call of a tool'


def _unknown(name: str, found: Guess) -> Iterator[str]:
    held = [str(each) for each in found.unknown.get(name, ())]
    shown = [each for each in held if _WORD.fullmatch(each)]
    if shown:
        yield from _wrapped("seen and not assigned: ", [_toml(each) for each in shown[:_SHOWN]])


def _source(sample: Sample, found: Guess) -> Iterator[str]:
    if sample.path is None and not found.nothing:
        return
    yield ""
    yield "[source]"
    if sample.path is not None:
        others = "".join(f", not {_comment(path)}" for path in sample.lists[:_SHOWN])
        yield f"records = {_toml(sample.path)}   # the list of records{others}"
    if found.nothing:
        yield f"null = {_toml(found.nothing)}   # stand for no value"


def _kind(column: Column) -> str:
    types = {
        "object": dict,
        "list": list,
        "true or false": bool,
        "text": str,
        "number": int | float,
    }
    for name, kind in types.items():
        if column.values and all(isinstance(value, kind) for value in column.values):
            return name
    return "several types" if column.values else "nothing"


def _wrapped(start: str, words: list[str]) -> Iterator[str]:
    """Yield comment lines of no more than a hundred characters."""
    line = f"# {start}"
    for at, word in enumerate(words):
        part = word + ("," if at < len(words) - 1 else "")
        if len(line) + len(part) > 98:
            yield line.rstrip()
            line = "#   "
        line += part + " "
    if words:
        yield line.rstrip()


def _toml(value: Any) -> str:
    """Return a text, number, truth or list as TOML; its strings are JSON's but for DEL."""
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    text = json.dumps(value, ensure_ascii=False)
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _comment(text: str) -> str:
    """Return a name as it can stand in a comment."""
    return "".join(c if c.isprintable() else "?" for c in text)

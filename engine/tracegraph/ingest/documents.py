"""Files that hold one JSON document, an array of them, or one a line; one trace a document."""

import json
from collections.abc import Callable, Iterator
from typing import TypeVar

import msgspec

from tracegraph.errors import InputError, StrictError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.json_lines import is_json_lines
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.nesting import deep_nesting
from tracegraph.ingest.source import Source
from tracegraph.ingest.tolerant_json import decode_tolerant
from tracegraph.ingest.torn_array import whole_items
from tracegraph.model.draft import Draft

_Record = TypeVar("_Record")


def read_documents(
    source: Source,
    options: ReadOptions,
    area: str,
    decode: Callable[[bytes, str, Losses], _Record],
    trace_id: Callable[[_Record], str],
    add: Callable[[Draft, _Record, Source, Losses], None],
) -> Draft:
    """Read a file of documents into a draft; one that cannot be read costs itself only.

    Gap code: ``<area>.unreadable_trace``, of the file.

    Args:
        source: the file.
        options: what is asked for.
        area: what gap codes start with.
        decode: makes a record of (document, place, losses), or raises InputError.
        trace_id: the trace id of a record.
        add: appends the record's trace to a draft.

    Raises:
        InputError: none of the documents can be read.
        StrictError: strict, and something was lost.
    """
    draft = Draft(keep_content=options.keep_content)
    outside = Losses(source.name, options.strict)
    refusal: InputError | None = None
    found = False
    for place, data in documents(source, outside):
        losses = Losses(source.name, options.strict)
        try:
            record = decode(data, place, losses)
        except InputError as error:
            if options.strict:
                raise
            refusal = refusal or error
            outside.add(f"{area}.unreadable_trace", str(error))
            continue
        found = True
        if options.only is None or trace_id(record) in options.only:
            add(draft, record, source, losses)
    if not found:
        raise refusal or InputError(f"{source.name}: holds no trace")
    draft.file_gaps.update(outside.counts)
    return draft


def documents(source: Source, losses: Losses) -> Iterator[tuple[str, bytes]]:
    """Yield (place for messages, bytes) of each document, undecoded.

    Of an array that is damaged the items before the fault are read. Gap code: ``files.damaged``.
    """
    if is_json_lines(source):
        for number, _, line in source.lines():
            yield f"{source.name}: line {number}", line
        return
    data = source.document()
    if not source.head.lstrip().startswith(b"["):
        yield source.name, data
        return
    for index, item in enumerate(_items(data, source.name, losses), 1):
        yield f"{source.name}: item {index}", item


def _items(data: bytes, name: str, losses: Losses) -> list[bytes]:
    try:
        return [bytes(item) for item in msgspec.json.decode(data, type=list[msgspec.Raw])]
    except (msgspec.MsgspecError, RecursionError):
        try:
            items = decode_tolerant(data, name, losses)
        except StrictError:
            raise
        except InputError:
            whole = whole_items(data)
            if not whole:
                raise
            what = f"the array is damaged behind byte {whole[-1][1]}: {len(whole)} items are read"
            losses.add("files.damaged", what)
            return [data[begin:end] for begin, end in whole]
    if not isinstance(items, list):
        raise InputError(f"{name}: not an array of JSON documents")
    try:
        with deep_nesting():
            return [json.dumps(item).encode() for item in items]
    except RecursionError:
        raise InputError(f"{name}: JSON nested too deeply to be read") from None

"""Open a log: what it says of the evaluation, and its samples one by one.

A log is one JSON document, or a ZIP file (``.eval``) with ``header.json`` and a member for each
sample; until a run has ended the header is ``_journal/start.json``. Source: the records of
``inspect_ai.log`` (``EvalLog``, versions 1 to 3) and its two recorders.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from tracegraph.errors import InputError
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.source import Source
from tracegraph.ingest.tolerant_json import decode_json, decode_tolerant
from tracegraph.ingest.transcript.fields import Fields
from tracegraph.ingest.zip_file import ZipFile, is_zip

AREA = "inspect_ai"
SAMPLES = "samples/"
HEADERS = ("header.json", "_journal/start.json")
"""The members that tell of the evaluation; the second is written when it starts."""
_REFUSED = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class Evaluation(NamedTuple):
    """What a log says of the evaluation as a whole; None is not recorded."""

    run_id: str | None
    eval_id: str | None
    task: str | None
    model: str | None
    status: str | None


Load = Callable[[Losses], Any]
"""Reads one sample and discloses what is lost by that; raises InputError where nothing is left."""


class Log(NamedTuple):
    """A log: the samples are (place for messages, how to read it)."""

    evaluation: Evaluation
    samples: Iterator[tuple[str, Load]]


class _Document(Struct):
    status: Any = None
    eval: Any = None
    samples: list[msgspec.Raw] | None = None


_decode_document = msgspec.json.Decoder(_Document).decode


def open_log(source: Source, losses: Losses) -> Log:
    """Open a log.

    Gap codes: ``files.damaged`` (a ZIP file without its directory), ``inspect_ai.no_header``,
    ``inspect_ai.unreadable_field``.

    Raises:
        InputError: it is neither.
    """
    return _from_zip(source, losses) if is_zip(source) else _from_document(source, losses)


def _from_document(source: Source, losses: Losses) -> Log:
    data = source.document()
    samples: Any
    try:
        found = _decode_document(data)
        header, samples = msgspec.structs.asdict(found), found.samples
    except _REFUSED:
        header = decode_tolerant(data, source.name, losses)
        if not isinstance(header, dict):
            raise InputError(f"{source.name}: not the log of an evaluation") from None
        samples = header.get("samples")
    if samples is not None and not isinstance(samples, list):
        raise InputError(f"{source.name}: its samples are no list")
    listed = (
        (f"{source.name}: sample {number}", _loader(item, f"{source.name}: sample {number}"))
        for number, item in enumerate(samples or [], 1)
    )
    return Log(_evaluation(header, losses), listed)


def _from_zip(source: Source, losses: Losses) -> Log:
    file = ZipFile(source)
    if file.fault:
        losses.add("files.damaged", file.fault)
    names = set(file.names)
    header: Any = None
    for name in HEADERS:
        if name in names and not isinstance(header, dict):
            header = _header(file, name, f"{source.name}: {name}", losses)
    if not isinstance(header, dict):
        losses.add("inspect_ai.no_header", "nothing tells of the evaluation")
        header = {}
    listed = (
        (f"{source.name}: {name}", _member_loader(file, name, f"{source.name}: {name}"))
        for name in file.names
        if name.startswith(SAMPLES) and name.endswith(".json")
    )
    return Log(_evaluation(header, losses), listed)


def _header(file: ZipFile, name: str, place: str, losses: Losses) -> Any:
    try:
        return decode_json(file.read(name).data, place, losses)
    except InputError:
        return None


def _member_loader(file: ZipFile, name: str, place: str) -> Load:
    def load(losses: Losses) -> Any:
        found = file.read(name)
        try:
            value = decode_json(found.data, place, losses)
        except InputError:
            if found.fault:
                raise InputError(f"{place}: damaged: {found.fault}") from None
            raise
        if found.fault:
            losses.add("files.damaged", found.fault)
        return value

    return load


def _loader(item: Any, place: str) -> Load:
    def load(losses: Losses) -> Any:
        return decode_json(item, place, losses) if isinstance(item, msgspec.Raw) else item

    return load


def _evaluation(header: dict[str, Any], losses: Losses) -> Evaluation:
    """Read what stands over the samples.

    Gap code: ``inspect_ai.unreadable_field``.
    """
    top = Fields(header, "the log", AREA, losses)
    spec = top.inner("eval")
    return Evaluation(
        spec.text("run_id"),
        spec.text("eval_id"),
        spec.text("task"),
        spec.text("model"),
        top.text("status"),
    )

"""Home-made logs: a mapping to start from, and the mapping that a file holds."""

import os
import sys
from pathlib import Path

from tracegraph.errors import InputError, UnknownFormatError, UsageError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.discover import STDIN, STDIN_NAME, discover
from tracegraph.ingest.mapped.load import load_map
from tracegraph.ingest.mapped.template import template
from tracegraph.ingest.registry import detect, is_binary
from tracegraph.ingest.source import Source, record_limit


def map_template(path: str) -> str:
    """Return a mapping for a log to start from, as TOML.

    Args:
        path: a file, or ``-`` for standard input.

    Raises:
        UsageError: it is a folder.
        InputError: it cannot be read, holds no record, or needs no mapping.
    """
    if path == STDIN:
        return _template(Source(STDIN_NAME, sys.stdin.buffer.read(), record_limit()))
    if os.path.isdir(path):
        raise UsageError(f"{path}: is a folder; name one of its files")
    files = discover([path]).files
    if len(files) != 1 or files[0].path is None:
        raise UsageError(f"{path}: several files; name one of them")
    return _template(Source.open(files[0].path, files[0].name, record_limit()))


def _template(source: Source) -> str:
    try:
        known = detect(source)
    except UnknownFormatError:
        if is_binary(source):
            raise
        return template(source)
    raise InputError(f"{source.name}: this is {known.name}: read it as it is, without a mapping")


def mapped_by(path: Path) -> ReadOptions:
    """Return the options that read every file by the mapping in a file.

    Raises:
        InputError: it cannot be read, or is no mapping.
    """
    return ReadOptions(mapping=load_map(path))


def refuse_corpora(paths: list[str]) -> None:
    """Refuse to read a corpus by a mapping.

    Raises:
        InputError: there is one among the paths.
    """
    if not discover(paths).corpora:
        return
    (named, *_) = [path for path in paths if path != STDIN and discover([path]).corpora]
    raise InputError(f"{named}: a corpus already; name the logs that a mapping is to read")

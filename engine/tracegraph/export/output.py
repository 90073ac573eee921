"""An output file appears whole or not at all, and never in the place of an input."""

import os
import stat
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from tracegraph.errors import UsageError, system_reason


def write_file(
    output: Path, chunks: Iterable[str], inputs: Iterable[Path] = (), *, fresh: bool = False
) -> None:
    """Write text to a temporary file in the target folder, sync it and rename it into place.

    Args:
        output: the file; an existing one is replaced in one step and keeps its mode.
        chunks: the text, piece by piece; an error while it is made leaves no file behind.
        inputs: files and folders that were read: none of them may be the output.
        fresh: refuse to replace anything, since nobody named the file.

    Raises:
        UsageError: the output is an input, is there already, or cannot be written.
    """
    refuse_input(output, inputs)
    if fresh and os.path.lexists(output):
        raise _exists(output)
    target = Path(os.path.realpath(output))  # a link keeps pointing: what it points to is replaced
    try:
        mode = output.stat().st_mode
    except OSError:
        mode = stat.S_IFREG | (0o666 & ~_umask())
    if stat.S_ISDIR(mode):
        raise UsageError(f"{output}: is a folder; name a file in it")
    try:
        # A pipe or a device is written through; /dev/stdout and >(...) lead to one without a path.
        if not stat.S_ISREG(mode):
            with output.open("w", encoding="utf-8", newline="") as stream:
                stream.writelines(chunks)
            return
        handle, name = tempfile.mkstemp(prefix=".tracegraph.", suffix=".part", dir=target.parent)
    except OSError as error:
        raise UsageError(f"{output}: cannot be written: {system_reason(error)}") from None
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
            stream.writelines(chunks)
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).chmod(stat.S_IMODE(mode))
        if not fresh:
            Path(name).replace(target)
        elif not _linked(name, target):
            raise _exists(output)
    except OSError as error:
        raise UsageError(f"{output}: cannot be written: {system_reason(error)}") from None
    finally:
        Path(name).unlink(missing_ok=True)


def _linked(name: str, target: Path) -> bool:
    """Give a file a name that nothing has yet; False if something has it by now."""
    try:
        os.link(name, target)
    except FileExistsError:
        return False
    except OSError:  # a file system without hard links: there it is looked for first
        if os.path.lexists(target):
            return False
        Path(name).replace(target)
    return True


def _exists(output: Path) -> UsageError:
    return UsageError(f"{output}: is there already; name it with -o to replace it")


def refuse_input(output: Path, inputs: Iterable[Path]) -> None:
    """Refuse an output that is, under whatever name, a file that was read.

    Raises:
        UsageError: it is.
    """
    try:
        there = output.stat()
    except OSError:  # no such file yet
        return
    for path in inputs:
        with suppress(OSError):  # it is not there any more
            if os.path.samestat(there, path.stat()):
                raise UsageError(f"{output}: is an input; name another file to write")


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask

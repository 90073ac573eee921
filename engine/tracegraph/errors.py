"""Every error that tracegraph raises for something a person can mend.

::

    TracegraphError
      UsageError           arguments that cannot be taken
      InputError           a source that cannot be read
        UnknownFormatError   no adapter knows the content
        RecordLimitError     one record is larger than the limit
        UnpackedLimitError   a compressed file holds more than the limit
        MissingLibraryError  it takes a library that is not installed
        StrictError          --strict met a disclosure of loss
      CorpusError          a corpus that cannot be used
        CorpusLockedError    another writer holds it
        DamagedGraphError    its graph is not what was built; the segments hold everything
      PatternError         a pattern that cannot be loaded; carries line and column
        UnsupportedPatternError  valid, but not on the backend that was asked for
      QueryError           a Cypher statement that is refused or failed

Each message is one line that names the file, the place and the remedy. The command line prints it
and exits with :attr:`TracegraphError.exit_code` (DESIGN section 6: 2 everywhere).
"""

import os
from collections.abc import Iterable


class TracegraphError(Exception):
    """Root of all errors that are shown as one line."""

    exit_code = 2


class UsageError(TracegraphError):
    """Arguments that contradict each other or cannot be taken."""


class InputError(TracegraphError):
    """A source that cannot be read; the message starts with its name."""


class UnknownFormatError(InputError):
    """No adapter recognises the content of a file.

    Attributes:
        reason: the message without the remedy, which is said once however many files have it.
    """

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(f"{reason} ({remedy})" if remedy else reason)
        self.reason = reason


class RecordLimitError(InputError):
    """One record is larger than ``TRACEGRAPH_MAX_RECORD_BYTES``."""


class UnpackedLimitError(InputError):
    """A compressed file holds more than ``TRACEGRAPH_MAX_UNPACKED_BYTES``."""


class MissingLibraryError(InputError):
    """A format takes a library that is not there; nothing about the file itself is wrong."""


class StrictError(InputError):
    """``--strict`` turned a disclosure of loss into a refusal."""


class CorpusError(TracegraphError):
    """A corpus directory that cannot be used as it is."""


class CorpusLockedError(CorpusError):
    """Another writer holds the corpus for longer than the bounded wait."""


class DamagedGraphError(CorpusError):
    """A graph that is missing, no database, or does not hold what its corpus says."""


class PatternError(TracegraphError):
    """A pattern that cannot be loaded.

    Attributes:
        line: 1-based line of the place, 0 when there is none.
        column: 1-based column of the place, 0 when there is none.
    """

    def __init__(self, message: str, line: int = 0, column: int = 0, source: str = "") -> None:
        place = f"line {line}, column {column}: " if line else ""
        super().__init__(f"{source + ': ' if source else ''}{place}{message}")
        self.message = message
        self.line = line
        self.column = column


class UnsupportedPatternError(PatternError):
    """A valid pattern that the chosen backend cannot answer exactly and completely."""


class QueryError(TracegraphError):
    """A Cypher statement that is refused by the guard or failed in the database."""


def system_reason(error: OSError) -> str:
    """Return what the system says, without numbers and without what a library adds to it."""
    return os.strerror(error.errno) if error.errno else str(error)


def described(error: Exception) -> str:
    """Return an error as one line: of what the system says, the file and the reason."""
    if not isinstance(error, OSError):
        return str(error)
    return f"{error.filename}: " * bool(error.filename) + system_reason(error)


def did_you_mean(word: str, known: Iterable[str], most: int = 1) -> str:
    """Return what may have been meant, as the end of a message; empty where nothing is near.

    Args:
        word: as it was written.
        known: what there is.
        most: how many of these are named.
    """
    from difflib import get_close_matches

    found = get_close_matches(word, list(known), n=most)
    return f"; did you mean {' or '.join(found)}?" if found else ""

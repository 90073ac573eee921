"""The privacy profile of reports, safe-v1: names that could be free text become aliases.

A name that is shaped like an identifier stays. Any other becomes ``redacted:`` and the SHA-256 of
its UTF-8 bytes, unsalted, so that one name has one alias in every report. This hides text from
readers of a report, not from somebody who can guess it. Patterns match before names are aliased.
Error text and bodies enter no report at all.
"""

import hashlib
import re
from typing import Final, overload

PROFILE: Final = "safe-v1"
_IDENTIFIER = re.compile(r"[A-Za-z0-9_.:/#@-]{1,200}")
_GAP_CODE = re.compile(r"[a-z0-9_]{1,60}(\.[a-z0-9_]{1,60}){1,3}")


@overload
def alias(name: str) -> str: ...
@overload
def alias(name: None) -> None: ...
def alias(name: str | None) -> str | None:
    """Return a name as reports show it; unknown stays unknown."""
    if name is None or _IDENTIFIER.fullmatch(name):
        return name
    return "redacted:" + _digest(name)


def gap_code(code: str) -> str:
    """Return a gap code as reports show it: an artifact that somebody wrote may hold any text."""
    return code if _GAP_CODE.fullmatch(code) else "redacted." + _digest(code)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

"""What the file of an artifact is called where nobody named it (the rule of the seed README)."""

import hashlib
import re

_PORTABLE = re.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_RESERVED = frozenset(
    ["CON", "PRN", "AUX", "NUL", *(f"{port}{n}" for port in ("COM", "LPT") for n in range(1, 10))]
)
"""Names of devices on Windows, whatever stands behind a dot."""


def artifact_name(trace_id: str) -> str:
    """Return ``<id>.json`` for a short id that every file system takes, else a digest of the id."""
    if _PORTABLE.fullmatch(trace_id) and trace_id.partition(".")[0].upper() not in _RESERVED:
        return f"{trace_id}.json"
    digest = hashlib.sha256(trace_id.encode("utf-8", "surrogatepass")).hexdigest()
    return f"trace-{digest}.json"

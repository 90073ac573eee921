"""What to write instead, where the engine does not know a table or a property."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from tracegraph.errors import did_you_mean

_UNKNOWN: Final = re.compile(
    r"Cannot find property (?P<property>\S+) for |Table (?P<table>\S+) does"
)
_PART_OF_TEXT: Final = re.compile(
    r"(?P<value>\w+\.(?:attributes|gaps)) has data type STRING but \(NODE"
)
_SCHEMA: Final = "; :schema lists them in the shell that 'tracegraph cypher PATHS' opens"


def hinted(message: str, connection: Any) -> str:
    """Return a message of the engine with the nearest name, or where all are listed."""
    if part := _PART_OF_TEXT.search(message):
        said = f"{part['value']} is JSON as text: json_extract({part['value']}, '$.NAME') reads it"
        return f"{message.rstrip('.')}; {said}"
    found = _UNKNOWN.search(message)
    return message if found is None else message.rstrip(".") + _hint(found, connection)


def _hint(found: re.Match[str], connection: Any) -> str:
    tables = _names(connection, "CALL show_tables() RETURN name")
    if found["table"]:
        return (
            did_you_mean(found["table"], tables) or f"; the tables are {', '.join(sorted(tables))}"
        )
    known: set[str] = set()
    for table in tables:
        known.update(_names(connection, f"CALL table_info('{table}') RETURN name"))
    readable = [name for name in sorted(known) if not name.startswith("_")]
    return did_you_mean(found["property"], readable) or _SCHEMA


def _names(connection: Any, statement: str) -> Sequence[str]:
    return [name for (name,) in _rows(connection.execute(statement))]


def _rows(result: Any) -> Iterable[Sequence[str]]:
    while result.has_next():
        yield result.get_next()

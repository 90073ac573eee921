"""Inputs of every format with a canary in every free text, told apart by what they may reach.

Nothing here knows an adapter. A text is private unless its key says otherwise, so a field that a
fixture gains is private until somebody lists it: ``_NAMES`` are what people call things,
``_ERRORS`` say what went wrong, ``_STRUCTURE`` are ids, words of a vocabulary and times. Every
object gets a member that no format knows, with a canary in its key as well.
"""

import hashlib
import json
import re
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from enum import StrEnum
from pathlib import Path
from typing import Any

import ormsgpack

from phoenix_data import made_database
from tracegraph.ingest.source import Source
from tracegraph.ingest.zip_file import ZipFile


class Role(StrEnum):
    """What a text is, as the second letters of its canary: ``KANARI-B-0123456789``."""

    BODY = "B"
    ERROR = "E"
    NAME = "N"
    SESSION = "S"


UNHEARD_OF = "a member that nobody knows"
"""The place of the canaries in the keys and values of such members."""
_TOKEN = "KANARI-{}-{}"
_STRUCTURE = re.compile(
    r"(.*[._])?ids?|\w*I[dD]s?|refType|duration|.*_ns|dotted_order|(.*[._])?(type|kind|status|role|mode|code|version"
    r"|level|language|encoding)|status_code|event_type|evidence|origin|(causal_)?fidelity|source|status_source"
    r"|cause|effect|src|dst|phase|subtype|runtime|langgraph_\w+|mime_type|environment|stopReason"
    r"|finishReason|edge_group\..*|ts|timestamp|method|message\.(source|target)_id|signals"
    r"|object|gen_ai\.operation\.name|gen_ai\.task\.\w+|media_type|condition|docs|unit|file|file_digest"
)
_SESSIONS = re.compile(r"session\.id|sessionId|gen_ai\.conversation\.id|session_identifier")
_NAMES = re.compile(
    r"operationName|serviceName|(.*[._])?(name|model|model_name|agent|error_type|label|entity_name)|error\.type"
    r"|exception\.type|exception_type|member|team|mailbox|next|tools|to|scenario|deployment\.environment|unknown_fields"
)
_ERRORS = re.compile(
    r"error|__error__|otel\.status_description|error_message|error_msg|status_message|statusMessage|exception\.message"
    r"|exception_message|exception_str|exception_info|statusText"
)
# What means something where it stands, and what is no text but a number, a time or an id.
_WORDS = {"exception", "start", "end", "new_token", "message", "tool", "interrupt"}
_NO_TEXT = re.compile(
    r"\s*|[-+.\d]+|[0-9a-fA-F-]{12,}|\d{4}-\d\d-\d\dT?[\d:. ]*.*|__\w+__|true|false|lc_run--.*"
)
_MESSAGES = {"message", "description"}
_OF_ATTRIBUTES = {"key", "value", "type"}
"""Members of an attribute, in OTLP without and in Jaeger with its type."""
# AutoGen's executors say in the text itself that what follows is of a run that failed.
_FAILED_RUN = re.compile(r"exitcode: [1-9]|The script ran, then exited with Unix exit code: [1-9]")
_CALL = "'})"
"""How the text of a call ends in a log that has calls as text."""
_COMMAND = ("swe_agent", "action")
"""Where commands of a shell are, whose first words are their names."""
_OWN: dict[tuple[str, str], Role | None] = {
    ("claude_code", "sessionId"): None,  # the id of the trace
    ("openai_agents", "server"): Role.NAME,
    ("inspect_ai", "task"): Role.NAME,
    ("inspect_ai", "function"): Role.NAME,
    **{("inspect_ai", key): None for key in ("event", "action", "uuid")},
}
"""What keys of one format mean, which in others may hold anything."""


class Planter:
    """Puts canaries into documents, and remembers where each one was put.

    Attributes:
        words: plant sentences, in names too; else secrets that are shaped like identifiers, and no
            names, since a name of that shape is one that reports keep.
        places: where each canary is.
    """

    def __init__(self, *, words: bool) -> None:
        self.words = words
        self.places: dict[str, str] = {}

    def document(self, path: Path) -> bytes:
        """Return a file of JSON or JSON Lines with canaries in it; a torn line stays as it is."""
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines() if path.suffix == ".jsonl" else [text]
        whole = ((_parsed(line), line) for line in lines)
        planted = [
            line if value is None else json.dumps(self.value(value, (path.parent.name, path.name)))
            for value, line in whole
        ]
        return "\n".join(planted).encode()

    def archive(self, path: Path, target: Path) -> None:
        """Write a ZIP file of JSON documents with canaries in each."""
        file = ZipFile(Source.open(path, path.name))
        with zipfile.ZipFile(target, "w") as made:
            for name in file.names:
                value = json.loads(bytes(file.read(name).data))
                made.writestr(name, json.dumps(self.value(value, (path.parent.name, path.name))))

    def value(self, value: Any, place: tuple[str, ...], role: Role | None = None) -> Any:
        """Return any value with canaries in it."""
        if isinstance(value, dict):
            return self._object(value, place, role)
        if isinstance(value, list):
            return [self.value(item, place, role) for item in value]
        if not isinstance(value, str):
            return value
        inner = _parsed(value)
        if inner is not None:
            return json.dumps(self.value(inner, place, role))
        own = (place[0], place[-1])
        of_key = _OWN[own] if own in _OWN else role_of(place[-1], value)
        return self.text(value, place, role or of_key)

    def text(self, text: str, place: tuple[str, ...], role: Role | None) -> str:
        """Return a text with a canary of its place in it; one of a name is that of the name."""
        is_name = role in {Role.NAME, Role.SESSION}
        if role is None or (is_name and not self.words):
            return text
        token = self._token(role, (text,) if is_name else place)
        if (place[0], place[-1]) == _COMMAND:
            return f"{text.split(maxsplit=1)[0]} {token}"
        if not self.words:
            return token
        said = f"ask {token}@corp.example for the password"
        if text.endswith(_CALL):
            return f"{text[: -len(_CALL)]} {said}{_CALL}"
        return f"{text} {said}" if is_name else f"{text}: {said}, it is {token}"

    def _object(
        self, value: dict[str, Any], place: tuple[str, ...], role: Role | None = None
    ) -> dict[str, Any]:
        if {"key", "value"} <= value.keys() <= _OF_ATTRIBUTES and isinstance(value["key"], str):
            return {**value, "value": self.value(value["value"], (*place, _plain(value["key"])))}
        if all(key.endswith(("Value", "_value")) for key in value) and value:
            return {key: self.value(item, place) for key, item in value.items()}
        is_failure = value.get("is_error") is True or value.get("status") == "error"
        planted = {}
        for key, item in value.items():
            reported = isinstance(item, str) and _FAILED_RUN.match(item)
            said = key in {"content", "output"} and bool(is_failure or reported)
            said |= role is Role.ERROR and key in {"content", "text"}
            said |= value.get("isApiErrorMessage") is True and key == "message"
            is_error = said or (key in _MESSAGES and place[-1] in {"error", "status"})
            below = (*place, _plain(key))
            planted[key] = self.value(item, below, Role.ERROR if is_error else None)
        unknown = self._token(Role.BODY, (*place, UNHEARD_OF))
        return {**planted, f"note {unknown}": f"kept for {unknown}"}

    def _token(self, role: Role, place: tuple[str, ...]) -> str:
        written = ".".join(place)
        token = _TOKEN.format(role, hashlib.sha256(written.encode()).hexdigest()[:10])
        self.places[token] = written
        return token

    # Databases.

    def checkpoints(self, original: Path, path: Path) -> Path:
        """Make a copy of a checkpoint database, with canaries in what its blobs hold.

        Names of nodes stay: task ids are computed from them.
        """
        path.write_bytes(original.read_bytes())
        with closing(sqlite3.connect(path)) as connection, connection:
            self._rewrite(connection, "checkpoints", "checkpoint", self._blob)
            self._rewrite(connection, "checkpoints", "metadata", self._json)
            for (channel,) in connection.execute("SELECT DISTINCT channel FROM writes").fetchall():
                self._rewrite(connection, "writes", "value", self._blob, channel)
        return path

    def phoenix(self, path: Path) -> Path:
        """Make a database of a Phoenix server with canaries in what people and programs wrote."""
        made_database(path)
        with closing(sqlite3.connect(path)) as connection, connection:
            for table, column, role in (
                ("spans", "name", Role.NAME),
                ("spans", "status_message", Role.ERROR),
                ("span_annotations", "name", Role.NAME),
                ("span_annotations", "label", Role.NAME),
                ("span_annotations", "explanation", Role.BODY),
                ("project_sessions", "session_id", Role.SESSION),
            ):
                self._rewrite(
                    connection,
                    table,
                    column,
                    lambda text, at, r=role: text and self.text(text, at, r),  # type: ignore[misc]
                )
            for table, column in (
                ("spans", "attributes"),
                ("spans", "events"),
                ("span_annotations", "metadata"),
            ):
                self._rewrite(connection, table, column, self._json)
        return path

    def _rewrite(
        self,
        connection: sqlite3.Connection,
        table: str,
        column: str,
        planted: Callable[[Any, tuple[str, ...]], Any],
        channel: str | None = None,
    ) -> None:
        query, at = f"SELECT rowid, {column} FROM {table}", (table, column)
        if channel is not None:
            query, at = f"{query} WHERE channel = '{channel}'", (table, channel)
        rows = connection.execute(query).fetchall()
        changed = [(planted(value, at), row) for row, value in rows]
        connection.executemany(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", changed)

    def _json(self, text: str | bytes, place: tuple[str, ...]) -> str | bytes:
        value = json.loads(text)
        if place[-1] == "checkpoint":
            value["channel_values"] = self.value(value["channel_values"], place)
        planted = json.dumps(value if place[-1] == "checkpoint" else self.value(value, place))
        return planted if isinstance(text, str) else planted.encode()

    def _blob(self, blob: bytes, place: tuple[str, ...]) -> bytes:
        def inner(code: int, data: bytes) -> Any:
            made = ormsgpack.unpackb(data, ext_hook=inner, option=_KEYS)
            if isinstance(made, list):  # module, class, arguments, method
                at = (*place, str(made[1]))
                given = made[2] if made[1] != "Send" else made[2][1]
                given = self.value(given, at)
                made[2] = given if made[1] != "Send" else [made[2][0], given]
            return ormsgpack.Ext(code, ormsgpack.packb(made, option=_KEYS))

        if blob[:1] in {b"{", b"[", b'"'}:
            return str(self._json(blob.decode(), place)).encode()
        if not blob:
            return blob
        whole = ormsgpack.unpackb(blob, ext_hook=inner, option=_KEYS)
        if place[-1] == "checkpoint":
            whole["channel_values"] = self.value(whole["channel_values"], place)
        else:
            whole = self.value(whole, place)
        return ormsgpack.packb(whole, option=_KEYS)


_KEYS = ormsgpack.OPT_NON_STR_KEYS


def role_of(key: str, text: str) -> Role | None:
    """Return what a text under a key is; None for what is no free text."""
    if _NO_TEXT.fullmatch(text) or text in _WORDS:
        return None
    for pattern, role in ((_SESSIONS, Role.SESSION), (_NAMES, Role.NAME), (_ERRORS, Role.ERROR)):
        if pattern.fullmatch(key):
            return role
    return None if _STRUCTURE.fullmatch(key) else Role.BODY


def _plain(key: str) -> str:
    """Return a key without the numbers of a flattened list, and a long one by its last parts."""
    # Elasticsearch takes no dots: Jaeger writes another sign.
    parts = [part for part in key.replace("@", ".").split(".") if not part.isdigit()]
    return ".".join(parts[-2:]) if parts[-1:] in (["name"], ["id"], ["type"]) else ".".join(parts)


def _parsed(text: str) -> Any:
    if text[:1] not in "{[":
        return None
    try:
        return json.loads(text)
    except ValueError:
        return None

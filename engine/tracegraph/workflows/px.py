"""Phoenix's official command-line program ``px``, asked for nothing but what it can read.

``px`` owns the connection and its credentials (profiles, ``PHOENIX_HOST``, ``PHOENIX_API_KEY``).
Four commands of it are used: ``--version``, ``project list``, ``trace list`` and ``trace get``
(Arize-ai/phoenix, js/packages/phoenix-cli). What it prints stays in memory.
"""

import os
import re
import shutil
import signal
import subprocess
import threading
import time
from contextlib import suppress
from typing import IO

from tracegraph.errors import TracegraphError, UsageError, system_reason
from tracegraph.ingest.source import LIMIT_VARIABLE, record_limit

PROGRAM = "px"
OLDEST = (1, 0, 4)
TIMEOUT = 60.0
"""Seconds that one command of px may take."""
INSTALL = "npm install -g @arizeai/phoenix-cli"
_RAW = ("--format", "raw", "--no-progress")
_EXPORT = ("--include-annotations", *_RAW)
_VERSION = re.compile(r"(?<![\d.])(\d+)\.(\d+)\.(\d+)")
_NAME = re.compile(r"[^\s-]\S*(?: \S+)*")
_CHUNK = 64 * 1024
_SAID_BYTES = 64 * 1024
_SAID_SHOWN = 300


class PxError(TracegraphError):
    """px is not there, too old, or did not answer; exit 1, since nothing is wrong with usage."""

    exit_code = 1


class Px:
    """The program, found on PATH.

    Attributes:
        path: where it lies.
    """

    def __init__(self, timeout: float = TIMEOUT) -> None:
        """Find the program.

        Args:
            timeout: seconds that one command may take.

        Raises:
            PxError: there is none.
        """
        path = shutil.which(PROGRAM)
        if path is None:
            raise PxError(f"{PROGRAM}: not found; install Phoenix's command line: {INSTALL}")
        self.path = path
        self._timeout = timeout

    def version(self) -> str:
        """Return its version.

        Raises:
            PxError: it is too old, or tells none.
        """
        said = self._run("--version").decode(errors="replace").strip()
        found = _VERSION.search(said)
        if found is None:
            raise PxError(f"{PROGRAM} --version tells no version; is it Phoenix's? {INSTALL}")
        if tuple(map(int, found.groups())) < OLDEST:
            oldest = ".".join(map(str, OLDEST))
            raise PxError(
                f"{PROGRAM} {found[0]}: too old, {oldest} or newer is needed: {INSTALL}@latest"
            )
        return found[0]

    def projects(self) -> bytes:
        """Return what ``project list`` prints: proof that the server answers."""
        return self._run("project", "list", "--limit", "1", *_RAW)

    def traces(self, limit: int, project: str | None) -> bytes:
        """Return the newest traces; empty where there are none."""
        return self._run("trace", "list", "--limit", str(limit), *_EXPORT, *_of(project))

    def trace(self, trace_id: str, project: str | None) -> bytes:
        """Return one trace by its id or the start of one."""
        return self._run("trace", "get", trace_id, *_EXPORT, *_of(project))

    def _run(self, *arguments: str) -> bytes:
        """Return what a command prints.

        Raises:
            PxError: it cannot be started, takes too long, prints too much, or fails.
        """
        command = f"{PROGRAM} {' '.join(arguments[:2])}"
        try:
            process = subprocess.Popen(
                [self.path, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # it is ended with all that it starts
            )
        except OSError as error:
            reason = system_reason(error)
            raise PxError(f"{PROGRAM}: cannot be started: {reason}; {INSTALL}") from None
        return _Running(process, command).result(self._timeout)


def refuse_option(text: str, what: str) -> None:
    """Refuse a name or an id that px would take for one of its options, some of which write files.

    Raises:
        UsageError: it starts like an option, or is blank.
    """
    if not _NAME.fullmatch(text):
        raise UsageError(f"{text!r}: no {what} of Phoenix")


def _of(project: str | None) -> tuple[str, ...]:
    return () if project is None else ("--project", project)


class _Running:
    """A command of px while it runs; both of its streams are read at once, so neither blocks it."""

    def __init__(self, process: "subprocess.Popen[bytes]", command: str) -> None:
        self._process, self._command = process, command
        self._limit = record_limit()
        self._out, self._said = bytearray(), bytearray()
        self._is_too_much = False
        assert process.stdout is not None and process.stderr is not None
        self._readers = [
            threading.Thread(target=self._read_out, args=(process.stdout,), daemon=True),
            threading.Thread(target=self._read_said, args=(process.stderr,), daemon=True),
        ]

    def result(self, timeout: float) -> bytes:
        """Wait for the end and return what was printed."""
        deadline = time.monotonic() + timeout
        for reader in self._readers:
            reader.start()
        try:
            for reader in self._readers:
                reader.join(max(0.0, deadline - time.monotonic()))
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(max(0.0, deadline - time.monotonic()))
            is_late = self._is_running()
        finally:
            if self._is_running():
                self._kill()
            self._let_go()
        if self._is_too_much:
            raise PxError(
                f"{self._command}: prints more than {self._limit} bytes; raise {LIMIT_VARIABLE} "
                "(0 = no limit) to read it"
            )
        if is_late:
            raise PxError(
                f"{self._command}: no answer within {timeout:g} s; tracegraph phoenix doctor says "
                "whether the server can be reached"
            )
        if self._process.returncode:
            raise PxError(f"{self._command}: {self._reason()}")
        return bytes(self._out)

    def _reason(self) -> str:
        """Return the first line that px said, or its exit code."""
        said = self._said.decode(errors="replace").strip().splitlines()
        return said[0][:_SAID_SHOWN] if said else f"exit code {self._process.returncode}"

    def _read_out(self, stream: IO[bytes]) -> None:
        with suppress(ValueError, OSError):  # closed, since nobody waits any more
            while chunk := os.read(stream.fileno(), _CHUNK):
                if self._limit and len(self._out) + len(chunk) > self._limit:
                    self._is_too_much = True
                    self._kill()
                    return
                self._out += chunk

    def _read_said(self, stream: IO[bytes]) -> None:
        with suppress(ValueError, OSError):
            while chunk := os.read(stream.fileno(), _CHUNK):
                self._said += chunk[: _SAID_BYTES - len(self._said)]

    def _is_running(self) -> bool:
        """Tell whether it, or something that it started and that holds its streams, still runs."""
        return self._process.poll() is None or any(r.is_alive() for r in self._readers)

    def _let_go(self) -> None:
        self._process.wait()
        for reader in self._readers:
            reader.join(1.0)
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()

    def _kill(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            if os.name == "posix":
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()

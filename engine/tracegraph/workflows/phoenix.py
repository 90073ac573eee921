"""Diagnose a run that Phoenix holds: chosen, read and analysed through ``px``, in memory.

The artifact that may be kept of it is body-free (:mod:`tracegraph.export.safe_artifact`). The
analysis reads what was exported, names and error texts too: matching comes before aliasing, and a
report shows neither.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from tracegraph.corpus.corpus import Corpus
from tracegraph.errors import InputError
from tracegraph.export.analysis import Analysed
from tracegraph.export.artifact import write_artifact
from tracegraph.export.safe_artifact import safe_trace
from tracegraph.export.text import counted
from tracegraph.model.trace import Trace
from tracegraph.workflows.analyze import Run, analyze
from tracegraph.workflows.from_bytes import read_bytes
from tracegraph.workflows.px import INSTALL, PROGRAM, TIMEOUT, Px, PxError, refuse_option
from tracegraph.workflows.traces import error_counts, select_trace

SCANNED = 20
"""Newest traces among which the failed one is sought."""
_WHOLE_BELOW = 10 * SCANNED
"""Spans below which ``trace list`` has read all that the project holds. From there on it stops at
the end of a page, which may cut a trace off (phoenix-cli, commands/trace.ts)."""
Outcome = Literal["ok", "failed", "skipped"]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that diagnosing needs, and what to do where it is missing."""

    name: str
    outcome: Outcome
    text: str


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A diagnosed run.

    Attributes:
        analysed: what a report tells of it.
        artifact: its body-free artifact.
        notices: how it was chosen, and what is to be known of how it was read.
    """

    analysed: Analysed
    artifact: bytes
    notices: tuple[str, ...]


def doctor(project: str | None = None, timeout: float = TIMEOUT) -> list[Check]:
    """Look whether px is there, is new enough, and reaches the server (and a project on it).

    Raises:
        UsageError: ``project`` cannot be a name.
    """
    if project is not None:
        refuse_option(project, "project")
    checks: list[Check] = []
    for name, look in _Looks(project, timeout).in_order():
        if any(done.outcome == "failed" for done in checks):
            checks.append(Check(name, "skipped", "what it needs is missing"))
            continue
        try:
            checks.append(Check(name, "ok", look()))
        except PxError as error:
            checks.append(Check(name, "failed", str(error)))
    return checks


def diagnose(
    trace_id: str | None = None,
    *,
    project: str | None = None,
    baseline: str | None = None,
    limit: int | None = None,
    timeout: float = TIMEOUT,
) -> Diagnosis:
    """Diagnose one run.

    Args:
        trace_id: which one, or the start of its id; None for the newest failed one of the newest
            20, and where none failed for the newest.
        project: the project; None for the one that px is set to.
        baseline: id of a run to compare it with.
        limit: incidents that a report lists at most.
        timeout: seconds that one command of px may take.

    Raises:
        PxError: px is missing, too old, does not answer, or holds no traces.
        UsageError: an id or a name that cannot be one, or fits several traces.
    """
    for text, what in ((trace_id, "trace"), (baseline, "trace"), (project, "project")):
        if text is not None:
            refuse_option(text, what)
    px = Px(timeout)
    px.version()
    asked = _Asked(px, project)
    trace = asked.newest_failed() if trace_id is None else asked.one(trace_id)
    run = _run(trace)
    other = None if baseline is None else _run(asked.one(baseline))
    return Diagnosis(analyze(run, other, limit), run.artifact, tuple(asked.notices))


class _Looks:
    """What :func:`doctor` looks at; each look needs those before it."""

    def __init__(self, project: str | None, timeout: float) -> None:
        self._project, self._timeout = project, timeout
        self._px: Px
        self._listed = b""

    def in_order(self) -> Iterator[tuple[str, Callable[[], str]]]:
        yield PROGRAM, self._program
        yield "version", self._version
        yield "server", self._server
        if self._project is not None:
            yield "project", self._find_project

    def _program(self) -> str:
        self._px = Px(self._timeout)
        return self._px.path

    def _version(self) -> str:
        return self._px.version()

    def _server(self) -> str:
        try:
            self._listed = self._px.projects()
        except PxError as error:
            raise PxError(
                f"{error}; set PHOENIX_HOST (and PHOENIX_API_KEY) or choose a profile of px"
            ) from None
        names = _project_names(self._listed)
        return "answers" if names is None else f"answers, with {counted(len(names), 'project')}"

    def _find_project(self) -> str:
        names = _project_names(self._listed)
        if names is None:
            return "not known: what px lists is no JSON"
        if self._project in {*names, *names.values()}:
            return str(self._project)
        known = ", ".join(sorted(names.values())) or "none"
        raise PxError(f"no project {self._project!r} there; there is: {known}")


class _Asked:
    """What px exports of one project, read."""

    def __init__(self, px: Px, project: str | None) -> None:
        self._px, self._project = px, project
        self.notices: list[str] = []

    def one(self, trace_id: str) -> Trace:
        """Return one trace; px knows ids that stand in no trace, so a single one is the answer."""
        corpus = self._read("trace get", self._px.trace(trace_id, self._project))
        if corpus.trace_count == 1:
            return next(corpus.traces())
        return select_trace(corpus, trace_id, f"{PROGRAM} trace get", "its whole id").trace

    def newest_failed(self) -> Trace:
        """Return the newest run that failed; else the newest in which a step did; else the newest.

        Phoenix calls a trace failed where any of its spans is, so a failure that a run survived
        comes before a run without one.
        """
        exported = self._px.traces(SCANNED, self._project)
        if exported.strip() in (b"", b"[]"):
            raise PxError(f"{PROGRAM} trace list: the project holds no traces")
        corpus = self._read("trace list", exported)
        newest = sorted(corpus.traces(), key=lambda t: -1 if t.started is None else -t.started)
        failed = next((trace for trace in newest if trace.status == "error"), None)
        scanned = f"of the {counted(len(newest), 'newest trace')}"
        if failed is not None:
            self.notices.append(f"trace {failed.trace_id}: the newest that failed, {scanned}")
            return self._whole(failed, corpus)
        hurt = next((trace for trace in newest if _has_errors(trace)), None)
        chosen = hurt or newest[0]
        what = "the newest with a failing step" if hurt else "the newest"
        self.notices.append(f"no run failed {scanned}; trace {chosen.trace_id} is {what}")
        return self._whole(chosen, corpus)

    def _whole(self, trace: Trace, corpus: Corpus) -> Trace:
        """Return a listed trace with all of its spans, where the list may lack some."""
        if corpus.step_count < _WHOLE_BELOW:
            return trace
        try:
            alone = self.one(trace.trace_id)
        except PxError as error:
            self.notices.append(f"the list may lack spans of the trace: {error}")
            return trace
        return alone if len(alone) >= len(trace) else trace

    def _read(self, command: str, exported: bytes) -> Corpus:
        name = f"{PROGRAM} {command}"
        try:
            corpus = read_bytes(name, exported)
        except InputError as error:
            raise PxError(f"{error}; is this px Phoenix's? {INSTALL}") from None
        for code, count in corpus.manifest.files[0].gaps.items():
            self.notices.append(f"{name}: {code} {count}")
        return corpus


def _run(trace: Trace) -> Run:
    return Run(trace, write_artifact(safe_trace(trace, PROGRAM), "structure"))


def _has_errors(trace: Trace) -> bool:
    return bool(error_counts(trace.columns)[trace.index])


def _project_names(listed: bytes) -> dict[str, str] | None:
    """Return the names of projects by their ids; None where they cannot be read."""
    with suppress(ValueError, TypeError, KeyError):
        return {str(project["id"]): str(project["name"]) for project in json.loads(listed)}
    return None

"""What was in view at a step? Read from the source, in memory; nothing is written anywhere."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tracegraph.analysis.context.compare import Change, compare
from tracegraph.analysis.context.view import NONE, Context, context_of
from tracegraph.corpus.corpus import Corpus
from tracegraph.corpus.manifest import NONE as NOWHERE
from tracegraph.corpus.manifest import FileEntry
from tracegraph.errors import UsageError
from tracegraph.export.traces import ListedTrace
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.discover import Discovery, InputFile, discover
from tracegraph.ingest.registry import uniting
from tracegraph.model.trace import Trace, iterate
from tracegraph.workflows.load import load
from tracegraph.workflows.rebuild import read_in_memory
from tracegraph.workflows.request import Progress, Request
from tracegraph.workflows.sessions import PREFIX, named_run
from tracegraph.workflows.steps import select_step
from tracegraph.workflows.traces import select_trace

_ARTIFACTS = frozenset({"artifact", "peer_artifact"})
_STATES = "langgraph"
"""The source of which the states of single steps are read, once it is known which."""


@dataclass(frozen=True, slots=True)
class InView:
    """The answer.

    Attributes:
        corpus: what was read for it, with bodies.
        listed: the trace.
        context: what was in view at the step.
        since: what was in view at the other step, None where there is none.
        change: what entered and left since then.
    """

    corpus: Corpus
    listed: ListedTrace
    context: Context
    since: Context | None
    change: Change | None


def in_view(
    path: str,
    trace_id: str | None,
    step: str,
    since: str | None = None,
    *,
    strict: bool = False,
    progress: Progress | None = None,
) -> InView:
    """Return what was in view at a step of a trace.

    Bodies are read of the one trace only: which one it is, is found out first, without any.

    Args:
        path: a file, a folder, ``-`` or a corpus.
        trace_id: which trace; None for the only one.
        step: the step, as :func:`select_step` takes it.
        since: another step, to say what entered and left since then.
        strict: refuse at the first loss.
        progress: hears how far reading has come.

    Raises:
        UsageError: no such trace or step, or several; or bodies are not there to be read.
    """
    steps = [step] if since is None else [step, since]
    found = discover([path])
    if found.corpora or any(file.stream for file in found.files):
        corpus = load([path], keep="content", strict=strict, cache=False, progress=progress)
        listed = select_trace(corpus, trace_id, path, f"{path}#ID")
    else:
        with load([path], keep="structure", strict=strict, cache=False) as bare:
            chosen = select_trace(bare, trace_id, path, f"{path}#ID")
            options = _options(chosen, steps)
            holding = replace(found, files=_holding(bare, _parts(chosen), found), passed=())
        corpus = read_in_memory(Request(holding, "content", strict, progress, options=options))
        listed = _same(corpus, chosen)
    contexts = [_context(corpus, listed, select_step(listed, name), path) for name in steps]
    earlier = contexts[1] if len(contexts) > 1 else None
    change = compare(earlier, contexts[0]) if earlier is not None else None
    return InView(corpus, listed, contexts[0], earlier, change)


def _parts(listed: ListedTrace) -> Sequence[Trace]:
    """Return the traces of a run as they were recorded."""
    return listed.parts or (listed.trace,)


def _recorded(listed: ListedTrace, row: int) -> tuple[Trace, int]:
    """Return the trace that a step was recorded in, and its row there.

    In view is what was in view in that trace: nothing is known of how a session's traces led to one
    another.
    """
    if not listed.parts:
        return listed.trace, row
    place = listed.rows[row]
    return next(part for part in listed.parts if place in part.rows), place


def _context(corpus: Corpus, listed: ListedTrace, row: int, path: str) -> Context:
    """Return what was in view at a step of a run.

    Raises:
        UsageError: bodies are not there to be read.
    """
    trace, place = _recorded(listed, row)
    context = replace(context_of(trace, place), row=row)
    _refuse_without_bodies(corpus, trace, context, path)
    return context


def _options(listed: ListedTrace, steps: list[str]) -> ReadOptions:
    """Return what reads the bodies of one run, and the states that steps of it ran from."""
    recorded = [_recorded(listed, select_step(listed, step)) for step in steps]
    return ReadOptions(
        only=frozenset(part.trace_id for part in _parts(listed)),
        state_of=frozenset(trace.columns.step_id[row] for trace, row in recorded),
    )


def _holding(corpus: Corpus, traces: Sequence[Trace], found: Discovery) -> tuple[InputFile, ...]:
    """Return the files that may hold parts of traces: one each, or all of a format that unites."""
    entries = _files_of(corpus, traces)
    if None in entries:
        return found.files
    united = {entry.adapter for entry in entries if entry} & uniting()
    names = {e.name for e in corpus.files if e in entries or e.adapter in united}
    return tuple(file for file in found.files if file.name in names)


def _same(corpus: Corpus, listed: ListedTrace) -> ListedTrace:
    """Return the run that was found before.

    Raises:
        UsageError: it is not there any more.
    """
    found = {_identity(trace): trace for trace in corpus.traces()}
    same = [found[each] for each in map(_identity, _parts(listed)) if each in found]
    if len(same) < len(_parts(listed)):
        raise UsageError(f"{listed.label}: went missing while it was read; run again")
    if not listed.parts:
        return replace(listed, trace=same[0])
    run = named_run(same, listed.label.removeprefix(PREFIX))
    return replace(listed, trace=run.trace, parts=run.members, rows=run.run.rows.tolist())


def _identity(trace: Trace) -> tuple[str, str, str | None]:
    return trace.trace_id, trace.source, trace.file


def _refuse_without_bodies(corpus: Corpus, trace: Trace, context: Context, path: str) -> None:
    """Refuse to answer from what holds no bodies: nothing in it does not mean nothing in view.

    Raises:
        UsageError: it is a corpus, an artifact or the stream of a database, and nothing of what was
            in view is in it.
    """
    if context.view != NONE:
        return
    (entry,) = _files_of(corpus, [trace])
    if corpus.directory is not None:
        what = "a corpus"
    elif entry is not None and entry.adapter in _ARTIFACTS:
        what = "an artifact"
    elif entry is not None and not entry.path and entry.adapter == _STATES:
        what = "a database as a stream"
    else:
        return
    source = entry.path if corpus.directory is not None and entry is not None else trace.file
    is_named = source and (entry is None or source != entry.name)
    example = f": tracegraph context {source}#{trace.trace_id} STEP" if is_named else ""
    raise UsageError(
        f"{path}: {what} without what was in view at the step; name the source file{example}"
    )


def _files_of(corpus: Corpus, traces: Sequence[Trace]) -> list[FileEntry | None]:
    """Return the file that each trace was read from, the first of several."""
    wanted = {_identity(trace) for trace in traces}
    homes = {
        _identity(trace): int(segment.held.home[trace.index])
        for segment in corpus.parts
        for trace in iterate(segment.columns)
        if _identity(trace) in wanted
    }
    entries = {entry.id: entry for entry in corpus.files}
    return [entries.get(homes.get(_identity(trace), NOWHERE)) for trace in traces]

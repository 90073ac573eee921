"""What was in view at a step? Read from the source, in memory; nothing is written anywhere."""

from dataclasses import dataclass, replace

from tracegraph.analysis.context.compare import Change, compare
from tracegraph.analysis.context.view import NONE, Context, context_of
from tracegraph.corpus.corpus import Corpus
from tracegraph.corpus.manifest import FileEntry
from tracegraph.errors import UsageError
from tracegraph.export.traces import ListedTrace
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.discover import Discovery, InputFile, discover
from tracegraph.ingest.registry import uniting
from tracegraph.model.trace import Trace
from tracegraph.workflows.load import load
from tracegraph.workflows.rebuild import read_in_memory
from tracegraph.workflows.request import Progress, Request
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
            holding = replace(found, files=_holding(bare, chosen.trace, found), passed=())
        corpus = read_in_memory(Request(holding, "content", strict, progress, options=options))
        listed = _same(corpus, chosen)
    contexts = [context_of(listed.trace, select_step(listed, name)) for name in steps]
    for context in contexts:
        _refuse_without_bodies(corpus, listed, context, path)
    earlier = contexts[1] if len(contexts) > 1 else None
    change = compare(earlier, contexts[0]) if earlier is not None else None
    return InView(corpus, listed, contexts[0], earlier, change)


def _options(listed: ListedTrace, steps: list[str]) -> ReadOptions:
    """Return what reads the bodies of one trace, and the states that steps of it ran from."""
    trace = listed.trace
    wanted = frozenset(trace.columns.step_id[select_step(listed, step)] for step in steps)
    return ReadOptions(only=frozenset({trace.trace_id}), state_of=wanted)


def _holding(corpus: Corpus, trace: Trace, found: Discovery) -> tuple[InputFile, ...]:
    """Return the files that may hold parts of a trace: one, or all where its format unites them."""
    entry = _file_of(corpus, trace)
    if entry is None:
        return found.files
    is_united = entry.adapter in uniting()
    kin = [e for e in corpus.files if is_united and e.adapter == entry.adapter]
    names = {e.name for e in (entry, *kin)}
    return tuple(file for file in found.files if file.name in names)


def _same(corpus: Corpus, listed: ListedTrace) -> ListedTrace:
    """Return the trace that was found before.

    Raises:
        UsageError: it is not there any more.
    """
    wanted = _identity(listed.trace)
    for trace in corpus.traces():
        if _identity(trace) == wanted:
            return ListedTrace(trace, listed.label, listed.error_count)
    raise UsageError(f"{listed.label}: went missing while it was read; run again")


def _identity(trace: Trace) -> tuple[str, str, str | None]:
    return trace.trace_id, trace.source, trace.file


def _refuse_without_bodies(
    corpus: Corpus, listed: ListedTrace, context: Context, path: str
) -> None:
    """Refuse to answer from what holds no bodies: nothing in it does not mean nothing in view.

    Raises:
        UsageError: it is a corpus, an artifact or the stream of a database, and nothing of what was
            in view is in it.
    """
    if context.view != NONE:
        return
    trace = listed.trace
    entry = _file_of(corpus, trace)
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


def _file_of(corpus: Corpus, trace: Trace) -> FileEntry | None:
    """Return the file that a trace was read from, the first of several."""
    home = next(
        (s.held.home[trace.index] for s in corpus.parts if s.columns is trace.columns), None
    )
    return next((entry for entry in corpus.files if entry.id == home), None)

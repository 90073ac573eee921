"""Find a trace by what people write: an id, the start of one, or ``id@source`` or ``id@file``.

Ids are unique in a file, not in a corpus: another source, or another file of the same source, may
use the same one. Such traces are shown with as much behind the ``@`` as tells them apart.
"""

from collections.abc import Iterable
from itertools import islice

from tracegraph.corpus.corpus import Corpus
from tracegraph.corpus.labels import Labels
from tracegraph.corpus.texts import Texts
from tracegraph.errors import UsageError, did_you_mean
from tracegraph.model.trace import Trace

_SHOWN = 10
_FEW = 3
_COMPARED = 10_000


def find_trace(corpus: Corpus, reference: str) -> Trace:
    """Return the one trace that a reference names.

    Raises:
        UsageError: none or several fit; the message lists them.
    """
    found = _matches(corpus, reference, exact=True)
    if not found and "@" in reference:
        identity, qualifier = reference.rsplit("@", 1)
        found = _qualified(_matches(corpus, identity, exact=True), qualifier)
        found = found or _qualified(_matches(corpus, identity, exact=False), qualifier)
    found = found or _matches(corpus, reference, exact=False)
    if len(found) == 1:
        return found[0]
    if not found:
        known = (name for _, columns in corpus.segments for name in columns.trace_id)
        near = closest(reference, known) or _those_there(corpus)
        raise UsageError(f"no trace {reference!r}{near}")
    labels = Labels(corpus)
    names = [labels.of(trace.columns, trace.index) for trace in found]
    shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
    raise UsageError(f"{reference!r} is ambiguous, {len(found)} traces fit: {shown}")


def closest(text: str, known: Iterable[str]) -> str:
    """Return what may have been meant, as the end of a message; empty where nothing is near.

    Only the first 10,000 are compared, in half a second: more would be waited for.
    """
    return did_you_mean(text, dict.fromkeys(islice(known, _COMPARED)), most=3)


def _those_there(corpus: Corpus) -> str:
    """Return which traces there are, where they are few."""
    if not 0 < corpus.trace_count <= _FEW:
        return "; see: tracegraph traces"
    return f"; there is {', '.join(trace.trace_id for trace in corpus.traces())}"


def _matches(corpus: Corpus, text: str, *, exact: bool) -> list[Trace]:
    found: list[tuple[int, Trace]] = []
    for number, columns in corpus.segments:
        ids = Texts.of(columns.trace_id)
        places = ids.equal_to(text) if exact else ids.starting_with(text)
        ranks = corpus.ranks[number]
        found += [(int(ranks[place]), Trace(columns, place)) for place in places.tolist()]
    return [trace for _, trace in sorted(found, key=lambda pair: pair[0])]


def _qualified(traces: list[Trace], qualifier: str) -> list[Trace]:
    return [trace for trace in traces if qualifier in (trace.source, trace.file)]

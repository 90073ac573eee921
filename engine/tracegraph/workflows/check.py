"""May a run ship?"""

import glob
import os
from collections.abc import Sequence

import numpy as np

from tracegraph.analysis.check.check import check
from tracegraph.analysis.check.rules import Rule, read_rule
from tracegraph.analysis.check.runs import Label, pair_of
from tracegraph.corpus.corpus import Corpus
from tracegraph.corpus.manifest import MANIFEST
from tracegraph.errors import UsageError
from tracegraph.export.check import Checked
from tracegraph.export.traces import ListedTrace
from tracegraph.model.codes import KINDS, STATUS_CODE
from tracegraph.workflows.analyze import run_of
from tracegraph.workflows.diff import unowned_gaps
from tracegraph.workflows.patterns import load_pattern
from tracegraph.workflows.sessions import PREFIX
from tracegraph.workflows.traces import select_trace, split_trace

_ONE_RUN = "check takes one run: name a file, or FILE#ID"


def read_rules(texts: Sequence[str]) -> list[Rule]:
    """Read rules as people write them.

    Raises:
        UsageError: there is none, or one that is no rule.
        InputError: the file of a pattern cannot be read.
        PatternError: a pattern cannot be loaded, or there is no such preset.
    """
    if not texts:
        raise UsageError("name a rule: --rule failures-not-increased, or several")
    return [read_rule(text, load_pattern) for text in texts]


def input_path(written: str) -> str:
    """Return the path of TRACE as people write it; a gate picks no run, so it names one.

    Raises:
        UsageError: a folder, unless it is a corpus and the run is named, or a pattern of paths;
            a session may lie in either.
    """
    path, trace_id = split_trace(written)
    if trace_id is not None and trace_id.startswith(PREFIX):
        return path  # its traces may lie in a file each
    if os.path.isfile(os.path.join(path, MANIFEST)):
        if trace_id is None:
            one = f"name it as {path}#ID or {path}#session=ID"
            raise UsageError(f"{path}: is a corpus; check takes one run: {one}")
    elif os.path.isdir(path):
        raise UsageError(f"{path}: is a folder; {_ONE_RUN}; of a folder, {path}#session=ID")
    elif glob.has_magic(path) and not os.path.lexists(path):
        raise UsageError(f"{path}: may be many files; {_ONE_RUN}")
    return path


def check_runs(
    current: tuple[str, Corpus],
    baseline: tuple[str, Corpus],
    rules: Sequence[Rule],
    limit: int | None = None,
) -> Checked:
    """Judge one run against another.

    Args:
        current: TRACE as people write it, and the corpus that its path was read to.
        baseline: the same of the run that it is compared with.
        rules: what is asked of it.
        limit: steps, or places, that a report lists of each thing at most; None for all.

    Raises:
        UsageError: a path holds several traces and none is named, or none has that name.
    """
    mine, other = _chosen(*current), _chosen(*baseline)
    unowned = unowned_gaps(current[1], mine.files), unowned_gaps(baseline[1], other.files)
    pair = pair_of(mine.trace, other.trace, unowned)
    answer = check(pair, rules, _later_successes(current[1], mine))
    return Checked(answer, (run_of(mine.trace).digest, run_of(other.trace).digest), limit)


def _chosen(written: str, corpus: Corpus) -> ListedTrace:
    path, trace_id = split_trace(written)
    return select_trace(corpus, trace_id, path, f"{path}#ID")


def _later_successes(corpus: Corpus, chosen: ListedTrace) -> frozenset[Label]:
    """Return kinds and names of what succeeded in the same session after a run had begun.

    Some producers write every attempt as a trace of its own. A run that is its whole session holds
    them itself.
    """
    session, begun = chosen.trace.session_id, chosen.trace.started
    if session is None or begun is None or corpus.trace_count == 1 or chosen.parts:
        return frozenset()
    found: set[Label] = set()
    for trace in corpus.traces():
        if trace.session_id == session and (trace.started or 0) > begun:
            columns, rows = trace.columns, np.arange(trace.rows.start, trace.rows.stop)
            for row in rows[columns.steps.status[rows] == STATUS_CODE["ok"]].tolist():
                steps = columns.steps
                found.add(Label(KINDS[steps.kind[row]], columns.text(steps.name[row])))
    return frozenset(found)

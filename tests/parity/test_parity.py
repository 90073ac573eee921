"""Oracle, matcher and Cypher give one answer: same matches, certainty, evidence, values, order.

``TRACEGRAPH_FUZZ=N`` runs N batches instead of the few that every test run affords.
"""

import os
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from parity.agreement import Tally, by_matcher, check
from parity.patterns import PatternMaker
from parity.traces import random_columns
from pattern.graphs import graph_of
from pattern.oracle_rows import results
from tracegraph.errors import PatternError
from tracegraph.pattern.ast import Pattern
from tracegraph.pattern.load import load_adhoc
from tracegraph.pattern.plan import plan

BATCHES = int(os.environ.get("TRACEGRAPH_FUZZ", "4"))
TRACES = 12
PATTERNS = 40


def random_pattern(random: Random) -> Pattern | None:
    """Return a random pattern, None where the text is refused at load."""
    try:
        return load_adhoc(PatternMaker(random).pattern())
    except PatternError:
        return None


# A database costs a second, so a batch asks one database many patterns; such examples do not
# shrink. The second test does: it needs none.
@settings(
    max_examples=BATCHES,
    deadline=None,
    derandomize=True,
    database=None,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
)
@given(seed=st.integers(0, 2**64 - 1), cycles=st.booleans(), long_chain=st.booleans())
def test_three_evaluators_agree(seed: int, cycles: bool, long_chain: bool) -> None:
    random = Random(seed)
    segments = [
        random_columns(random, TRACES, cycles=cycles, long_chain=long_chain) for _ in range(2)
    ]
    tally = Tally()
    with TemporaryDirectory() as folder, graph_of(Path(folder), *segments) as graph:
        for _ in range(PATTERNS):
            text = PatternMaker(random).pattern()
            try:
                pattern = load_adhoc(text)
            except PatternError:
                continue
            try:
                check(pattern, graph, tally)
            except Exception as error:
                error.add_note(text)
                raise
    assert tally.compiled > PATTERNS // 4
    assert tally.possible
    assert tally.results > tally.possible


@settings(max_examples=15 * BATCHES, deadline=None, derandomize=True, database=None)
@given(random=st.randoms(use_true_random=False), cycles=st.booleans())
def test_matcher_agrees_with_the_oracle(random: Random, cycles: bool) -> None:
    pattern = random_pattern(random)
    columns = random_columns(random, 2, cycles=cycles, long_chain=False)
    if pattern is not None:
        assert by_matcher(plan(pattern), columns) == results(pattern, columns)

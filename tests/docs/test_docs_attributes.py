"""The table of trace attributes in docs/commands.md, and what it says of tau-bench."""

import json
import re
from collections import defaultdict

from shared_data import ROOT, fixture
from tracegraph import load

_ROW = re.compile(r"^\| (?P<formats>`\w+`(?:, `\w+`)*) \| `(?P<names>[^`|]+)` \|$", re.MULTILINE)


def _table() -> dict[str, set[str]]:
    """Return the names that the table gives each format."""
    text = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    section = text.partition("### Labels and scores")[2].partition("\n### ")[0]
    return {
        name: set(row["names"].split())
        for row in _ROW.finditer(section)
        for name in re.findall(r"\w+", row["formats"])
    }


def test_every_attribute_of_the_fixtures_is_in_the_table() -> None:
    found: defaultdict[str, set[str]] = defaultdict(set)
    with load(ROOT / "tests" / "fixtures", cache=False) as traces:
        for trace in traces:
            found[trace.source] |= trace.attributes.keys()
    table = _table()
    assert {name for name, keys in found.items() if keys} <= table.keys()
    assert {name: keys - table.get(name, set()) for name, keys in found.items()} == {
        name: set() for name in found
    }


def test_the_query_for_runs_without_reward_finds_them() -> None:
    path = fixture("tau_bench/airline_three_runs.json")
    runs = json.loads(path.read_bytes())
    expected = {f"task-{run['task_id']}.trial-{run['trial']}" for run in runs if not run["reward"]}
    where = "json_extract(t.attributes, '$.evaluations.0.score') = '0.0'"
    with load(path, cache=False) as traces:
        rows = traces.cypher(f"MATCH (t:Trace) WHERE {where} RETURN t.trace_id AS run")
    assert expected == {row["run"] for row in rows} != set()

"""Whole real traces, step by step and cause by cause, as they were read and judged by eye.

``TRACEGRAPH_UPDATE_GOLDEN=1`` writes the listings anew; read the difference before it is kept.
"""

import os

import pytest

from otlp_data import listing, of_file
from shared_data import ROOT, fixture


@pytest.mark.parametrize(
    "name",
    [
        "genai_wf_fan_out_in",
        "openinference_parallel_tools",
        "openinference_tool_error_recover",
        "openllmetry_tool_error_recover",
    ],
)
def test_trace_reads_as_it_was_judged(name: str) -> None:
    found = "\n".join(listing(trace) for trace in of_file(fixture(f"otlp/{name}.json")))
    golden = ROOT / "tests" / "golden" / f"otlp_{name}.txt"
    if os.environ.get("TRACEGRAPH_UPDATE_GOLDEN"):
        golden.write_text(found, encoding="utf-8")
    assert found == golden.read_text(encoding="utf-8")

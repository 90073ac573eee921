"""The small inputs with known faults, ../shared/cases; the right answer of each is its expected.md.

What is small lies in tests/fixtures/cases; the large one is made.
"""

import json
from pathlib import Path
from typing import Any

from shared_data import fixture

HUGE_BYTES = 40 << 20
SIBLINGS = 5_000


def case(number: str, name: str = "input.json") -> Path:
    """Return a file of a case by the number of the case."""
    (folder,) = fixture("cases").glob(f"{number}-*")
    return folder / name


def write_huge_case(path: Path) -> Path:
    """Write the input of case 15, about 41 MB, as its make_input.py does.

    One agent, a tool with an output of 40 MiB, one whose arguments the producer cut at 1,000
    characters, and thousands of small siblings.
    """
    cut = json.dumps({"text": "y" * 5_000})[:1_000]
    spans = [
        _span(1, "agent", "AGENT", ""),
        _span(2, "dump", "TOOL", f"{1:016x}", ("output.value", "x" * HUGE_BYTES)),
        _span(3, "edit", "TOOL", f"{1:016x}", ("input.value", cut)) | {"droppedAttributesCount": 2},
        *(_span(10 + n, "tick", "TOOL", f"{1:016x}") for n in range(SIBLINGS)),
    ]
    with path.open("w", encoding="utf-8") as file:
        json.dump({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}, file)
    return path


def _span(
    number: int, name: str, kind: str, parent: str, *attributes: tuple[str, str]
) -> dict[str, Any]:
    return {
        "traceId": "4f" * 16,
        "spanId": f"{number:016x}",
        "parentSpanId": parent,
        "name": name,
        "startTimeUnixNano": str(10**18 + number),
        "endTimeUnixNano": str(10**18 + number + 1),
        "attributes": [
            {"key": key, "value": {"stringValue": value}}
            for key, value in (("openinference.span.kind", kind), *attributes)
        ],
        "status": {},
    }

"""Write one SQLite database and one journal for each scenario: ``python generate FOLDER [NAME]``.

Where OpenInference's instrumentation is installed, the spans of the same execution as well. Run by
the Python of an environment of tests/environments.py, never imported by the tests.
"""

import json
import sys
from importlib.metadata import version
from pathlib import Path

import agents
import agents_more
import control_flow
import history
import message_lists
import newer
import random_graphs
import subgraphs
from scenario import SCENARIOS, Scene
from spans import recorder

MODULES = (
    agents,
    agents_more,
    control_flow,
    history,
    message_lists,
    newer,
    random_graphs,
    subgraphs,
)


def main(folder: Path, wanted: list[str]) -> None:
    """Run the scenarios one after the other."""
    folder.mkdir(parents=True, exist_ok=True)
    spans = recorder()
    for name, scenario in SCENARIOS.items():
        if wanted and name not in wanted:
            continue
        path = folder / f"{name}.sqlite"
        path.unlink(missing_ok=True)
        scene = Scene(str(path), name)
        scenario(scene)
        scene.close()
        journal = vars(scene.journal) | {"langgraph": version("langgraph")}
        path.with_suffix(".json").write_text(json.dumps(journal, indent=1, default=str))
        if spans is not None:
            spans.write(path.with_suffix(".otlp.json"))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])

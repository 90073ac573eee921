"""What the registry says of adapters without loading them is what they say themselves."""

import subprocess
import sys

from shared_data import ROOT
from tracegraph.ingest.registry import REGISTERED, adapter_versions, adapters, uniting


def test_the_table_agrees_with_the_adapters() -> None:
    said = [(entry.name, entry.version, entry.unites) for entry in REGISTERED]
    assert said == [(each.name, each.version, each.unites) for each in adapters()]
    assert adapter_versions() == {each.name: each.version for each in adapters()}
    assert uniting() == {each.name for each in adapters() if each.unites}


def test_names_and_versions_are_known_without_loading_an_adapter() -> None:
    code = (
        "import sys\n"
        "from tracegraph.ingest.registry import adapter_versions, uniting\n"
        "adapter_versions(), uniting()\n"
        "print(sorted(name for name in sys.modules if name.startswith('tracegraph.ingest.')))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT / "engine",
    )
    assert done.stdout == "['tracegraph.ingest.registry']\n"

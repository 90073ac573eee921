"""The project's shared inputs: used where they are present, skipped loudly where they are not."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"


def shared(relative: str) -> Path:
    """Return a path under the shared folder, or skip the test with the reason."""
    path = SHARED / relative
    if not path.exists():
        pytest.skip(f"shared input {relative} is not on this machine")
    return path


def fixture(relative: str) -> Path:
    """Return a path under tests/fixtures."""
    return ROOT / "tests" / "fixtures" / relative

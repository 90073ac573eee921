"""One set of databases for all tests of the folder."""

import pytest

from langgraph_runs.recorded import Recordings


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recordings:
    """Return the databases that the pinned releases write."""
    return Recordings(tmp_path_factory.mktemp("langgraph"))

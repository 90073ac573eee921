"""Calls of which a checkpoint does not hold enough: nothing is made up, and it is disclosed."""

from pathlib import Path

import pytest

from langgraph_files import Database, by_name, gaps, message, read_one


@pytest.mark.parametrize("blank", ["", None])
def test_a_tool_message_that_names_no_call_is_disclosed(tmp_path: Path, blank: str | None) -> None:
    path = tmp_path / "t.sqlite"
    with Database(path) as base:
        base.checkpoint(0, source="input", step=-1)
        said = message("ToolMessage", content="x", tool_call_id=blank, name="boom")
        base.task(0, "node", [("messages", [said])])
    trace = read_one(path)
    assert by_name(trace)["node"].kind == "CHAIN"
    assert gaps(trace)["blank_call_id"] == 1

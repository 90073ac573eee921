"""The committed document of the columns says what the code says."""

from tracegraph.model.schema_document import FILE, document
from tracegraph.resources import read_data


def test_committed_document_is_up_to_date() -> None:
    assert read_data("schema", FILE) == document(), (
        f"schema/{FILE} is out of date; tracegraph.model.schema_document says how to write it"
    )

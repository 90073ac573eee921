"""OpenLLMetry attribute names (``traceloop.*``) -> what a step is (github.com/traceloop)."""

from tracegraph.ingest.attributes import Attributes
from tracegraph.ingest.openinference import Metadata
from tracegraph.model.codes import KIND_CODE

KIND = "traceloop.span.kind"
PROPERTIES = "traceloop.association.properties."
_KINDS = {"workflow": "CHAIN", "task": "CHAIN", "agent": "AGENT", "tool": "TOOL"}


def kind(attributes: Attributes) -> int | None:
    """Return the code of the recorded kind."""
    if KIND in attributes.values:
        name = _KINDS.get(attributes.text(KIND) or "")
        return KIND_CODE[name] if name else None
    if "llm.request.type" in attributes.values:
        return KIND_CODE["LLM"]
    return None


def metadata(attributes: Attributes) -> Metadata:
    """Return the framework's metadata, which lies in association properties."""
    get = attributes.get
    return Metadata(
        thread_id=get(PROPERTIES + "thread_id") or get(PROPERTIES + "conversation_id"),
        session_id=get(PROPERTIES + "session_id"),
        langgraph_step=get(PROPERTIES + "langgraph_step"),
        langgraph_node=get(PROPERTIES + "langgraph_node"),
        langgraph_triggers=get(PROPERTIES + "langgraph_triggers"),
        langgraph_checkpoint_ns=get(PROPERTIES + "langgraph_checkpoint_ns"),
    )

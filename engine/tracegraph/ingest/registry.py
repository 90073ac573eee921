"""Which adapters there are, and which one reads a file."""

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from tracegraph.errors import UnknownFormatError

if TYPE_CHECKING:
    from tracegraph.ingest.adapter import Adapter
    from tracegraph.ingest.source import Source


class Registered(NamedTuple):
    """What can be said of an adapter without loading it; it says the same of itself."""

    name: str
    version: int
    unites: bool
    type_name: str
    """Of the class, which stands in ``tracegraph.ingest.<name>.adapter``."""


# The order is the order of asking: formats with an unmistakable mark first. Names and versions
# stand here too, since a query on what was read before asks for them and for nothing else.
REGISTERED = (
    Registered("artifact", 1, False, "ArtifactAdapter"),
    Registered("peer_artifact", 1, False, "PeerArtifactAdapter"),
    Registered("agentdelta", 1, False, "AgentdeltaAdapter"),
    Registered("langgraph", 1, False, "LanggraphAdapter"),
    Registered("langfuse", 1, False, "LangfuseAdapter"),
    Registered("langgraph_state", 1, False, "LanggraphStateAdapter"),
    Registered("langsmith", 1, False, "LangsmithAdapter"),
    Registered("agentdiff", 1, False, "AgentdiffAdapter"),
    Registered("agent_lattice", 1, False, "AgentLatticeAdapter"),
    Registered("phoenix", 1, True, "PhoenixAdapter"),
    Registered("otlp", 2, True, "OtlpAdapter"),
)


def adapter_versions() -> dict[str, int]:
    """Return the version of each adapter by its name."""
    return {entry.name: entry.version for entry in REGISTERED}


def uniting() -> frozenset[str]:
    """Return the names of the adapters for which one id in several files is one trace."""
    return frozenset(entry.name for entry in REGISTERED if entry.unites)


@cache
def _loaded(entry: Registered) -> "Adapter":
    module = import_module(f"tracegraph.ingest.{entry.name}.adapter")
    made: Adapter = getattr(module, entry.type_name)()
    return made


def adapters() -> "tuple[Adapter, ...]":
    """Return all adapters in the order in which they are asked."""
    return tuple(map(_loaded, REGISTERED))


def detect(source: "Source") -> "Adapter":
    """Return the adapter that knows the content of a file.

    Raises:
        UnknownFormatError: none does, or the file is empty.
    """
    if not source.head.strip():
        raise UnknownFormatError(f"{source.name}: the file is empty")
    for entry in REGISTERED:  # one after the other: those behind the one that knows stay unloaded
        adapter = _loaded(entry)
        if adapter.sniff(source):
            return adapter
    known = ", ".join(entry.name for entry in REGISTERED)
    raise UnknownFormatError(f"{source.name}: no known trace format (known: {known})")

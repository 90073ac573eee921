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


NO_FORMAT = "no known trace format"

MAPPED = "mapped"
"""The adapter that takes no file by itself: a mapping chooses it."""

_BINARY = {
    b"PK\x03\x04": "a ZIP file without an Inspect log",
    b"SQLite format 3\0": "a SQLite database without checkpoints of LangGraph",
}
"""What binary files are called that formats of traces may come as, by their first bytes."""

# The order is the order of asking; no file has the marks of two, so what is met most comes first
# and the others need not be loaded. Names and versions stand here too, since a query on what was
# read before asks for them and for nothing else.
REGISTERED = (
    Registered("artifact", 1, False, "ArtifactAdapter"),
    Registered("peer_artifact", 1, False, "PeerArtifactAdapter"),
    Registered("otlp", 3, True, "OtlpAdapter"),
    Registered("agentdelta", 1, False, "AgentdeltaAdapter"),
    Registered("langgraph", 1, False, "LanggraphAdapter"),
    Registered("langfuse", 1, False, "LangfuseAdapter"),
    Registered("langgraph_state", 1, False, "LanggraphStateAdapter"),
    Registered("langsmith", 1, False, "LangsmithAdapter"),
    Registered("whowhen", 1, False, "WhowhenAdapter"),
    Registered("claude_code", 1, False, "ClaudeCodeAdapter"),
    Registered("tau_bench", 1, False, "TauBenchAdapter"),
    Registered("openai_agents", 1, False, "OpenaiAgentsAdapter"),
    Registered("inspect_ai", 1, False, "InspectAiAdapter"),
    Registered("swe_agent", 1, False, "SweAgentAdapter"),
    Registered("crewai", 1, False, "CrewaiAdapter"),
    Registered("agentdiff", 1, False, "AgentdiffAdapter"),
    Registered("agent_lattice", 1, False, "AgentLatticeAdapter"),
    Registered("otel_sdk", 1, True, "OtelSdkAdapter"),
    Registered("jaeger", 1, True, "JaegerAdapter"),
    Registered("trail", 1, True, "TrailAdapter"),
    Registered("phoenix", 1, True, "PhoenixAdapter"),
    Registered(MAPPED, 1, False, "MappedAdapter"),
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


def adapter_named(name: str) -> "Adapter":
    """Return the adapter of a name."""
    return next(_loaded(entry) for entry in REGISTERED if entry.name == name)


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
    if not is_binary(source):
        raise UnknownFormatError(f"{source.name}: {NO_FORMAT}", known_formats())
    named = (what for mark, what in _BINARY.items() if source.head.startswith(mark))
    what = next(named, "binary, and no text")
    raise UnknownFormatError(f"{source.name}: {NO_FORMAT}: {what}")


def is_binary(source: "Source") -> bool:
    """Tell content that is no text: it has a zero byte, and no mark of UTF-16 or UTF-32."""
    return b"\0" in source.head and not source.head.startswith((b"\xff\xfe", b"\xfe\xff", b"\0\0"))


def known_formats() -> str:
    """Return what formats there are, for people whose file has none of them."""
    known = ", ".join(entry.name for entry in REGISTERED if entry.name != MAPPED)
    return f"known: {known}; for a log of your own: tracegraph ingest --map-template FILE"

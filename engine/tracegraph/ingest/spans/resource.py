"""What is kept of the resource of a trace's spans: what ran, never what it was asked or said."""

from tracegraph.ingest.attributes import Attributes

KEPT = (
    "deployment.environment",
    "deployment.environment.name",
    "openinference.project.name",
    "service.name",
    "service.version",
)
"""The attributes of a resource (OpenTelemetry, OpenInference) that a trace may keep."""


def resource_attributes(attributes: Attributes) -> dict[str, str]:
    """Return the attributes of a resource that the trace keeps."""
    return {key: text for key in KEPT if (text := attributes.text(key))}

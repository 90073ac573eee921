"""OTLP: JSON and protobuf."""

"""OTLP/JSON."""

"""Jaeger's JSON of traces and spans."""

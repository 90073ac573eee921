"""Spans as the SDKs of OpenTelemetry print them."""

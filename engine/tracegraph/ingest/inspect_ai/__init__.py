"""Logs of Inspect (UK AI Security Institute)."""

"""Artifacts of agent-tracegraph."""

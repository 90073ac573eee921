"""Traces of the OpenAI Agents SDK."""

"""LangGraph message states."""

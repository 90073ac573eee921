"""LangGraph checkpoint databases."""

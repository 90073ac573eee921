"""LangSmith runs."""

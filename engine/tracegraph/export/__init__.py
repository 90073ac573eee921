"""Results -> contracted JSON, JSON Lines, CSV, Markdown and plain tables."""

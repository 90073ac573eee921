"""What a trace means: incidents, patterns, metrics and their comparison, as plain results."""

"""AgentDiff JSON."""

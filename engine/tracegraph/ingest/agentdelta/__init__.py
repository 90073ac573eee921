"""agentdelta JSON Lines."""

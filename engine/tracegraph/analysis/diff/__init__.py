"""What changed between two runs: topology, causal edges, behaviour and metrics, each on its own."""

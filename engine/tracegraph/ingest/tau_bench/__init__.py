"""tau-bench trajectories."""

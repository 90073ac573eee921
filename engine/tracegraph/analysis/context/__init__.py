"""What was in view at a step, and what entered and left between two."""

"""What a trace is: traces, steps, causes, gaps and the derived tree. No I/O."""

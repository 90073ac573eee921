"""May a run ship? One current run against one baseline, by rules that people name."""

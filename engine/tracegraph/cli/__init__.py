"""The command line: one file per command, rendering, exit codes."""

"""File -> Trace: find out what a file is, and read it. One adapter a file."""

"""Home-made logs, read by a mapping that their owner writes."""

"""From records of spans, whatever format carries them, to steps and causes."""

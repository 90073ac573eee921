"""The traces of the TRAIL benchmark."""

"""The portable artifact of tracegraph."""

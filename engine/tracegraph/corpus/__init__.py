"""Many traces on disk: segments, manifest, cache, lock, and the corpus that people query."""

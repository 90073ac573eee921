"""Phoenix: exports and the database of its server."""

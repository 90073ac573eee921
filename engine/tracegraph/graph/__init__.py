"""The graph database over traces: its schema, bulk loading, read-only Cypher."""

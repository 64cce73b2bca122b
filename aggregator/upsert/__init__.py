"""Upsert tables: for each key the newest row, and the same answer from every server."""

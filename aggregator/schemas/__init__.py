"""Schemas of records: where they come from."""

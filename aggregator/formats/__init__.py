"""Formats: record values as columns."""

"""Tailing a topic: records from a stored position on, log ends, stalls."""

"""Decisions of an operator about one partition: accept a loss, rewind."""

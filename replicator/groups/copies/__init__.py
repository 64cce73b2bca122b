"""Copies of commits and runs in another region's Redis, written by the daemons of their region."""

"""Audit: comparison of both ends of a route for the records of a window of time."""

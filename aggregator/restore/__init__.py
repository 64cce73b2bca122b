"""Restores: records from the objects of a feed back into a topic."""

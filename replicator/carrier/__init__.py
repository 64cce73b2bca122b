"""Carries one bin of a route's partitions: from the source, through lanes, to the target."""

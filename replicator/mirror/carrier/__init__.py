"""Carrier: mirrors a set of a route's partitions from the source cluster to the target."""

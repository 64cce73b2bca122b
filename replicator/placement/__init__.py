"""Placement of partitions on carriers: traffic of the sources, rounds of the balancer."""

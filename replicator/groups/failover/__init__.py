"""Failover of consumer groups to another region: planned, applied, verified."""

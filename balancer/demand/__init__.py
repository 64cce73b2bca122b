"""Demand of partitions on their carriers, computed from the traffic of their source logs.

The traffic that producers write counts, not the part that a carrier managed to carry. A partition
that is behind, or that no carrier carries, demands no less.
"""

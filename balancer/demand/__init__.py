"""What partitions demand of their carriers, from the traffic of their source logs.

What counts is what producers write, not what a carrier managed to carry: a partition that is
behind, or that nobody carries, demands no less.
"""

"""What the balancer decided, what operators ordered, and what the driver made of it.

The topic `sluice.balance` of a region's aggregate holds the first two for all routes into it; the
driver follows it, also while no balancer runs.
"""

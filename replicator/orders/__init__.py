"""Orders of operators, placements of the balancer, and the plan that the driver makes of them.

The topic `sluice.balance` of a region's aggregate holds orders and placements for all routes into
the region. The driver tails the topic, also while no balancer runs.
"""

"""Lag of a group, by its commits and the ends of the logs."""

from balancer.topic_partition import TopicPartition
from tui.facts.watch.group_lags import GroupLag, lag_of

ENDS = {TopicPartition("orders", 0): 10, TopicPartition("orders", 1): 20}


def test_the_lag_is_the_sum_of_all_partitions_with_a_commit():
    assert lag_of({"orders": [(0, 7), (1, 20)]}, ENDS) == GroupLag(3, 2, ("orders",))
    assert lag_of({}, ENDS) == GroupLag(0, 0)


def test_a_commit_beyond_the_end_does_not_make_up_for_another_partition():
    assert lag_of({"orders": [(0, 15), (1, 18)]}, ENDS) == GroupLag(2, 2, ("orders",))


def test_one_unknown_end_makes_the_lag_unknown():
    assert lag_of({"orders": [(0, 7), (2, 5)]}, ENDS) == GroupLag(None, 2, ("orders",))

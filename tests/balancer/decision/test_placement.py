from balancer.decision.placement import Move, Reason
from balancer.plan import TopicPartition


def test_moves_stand_in_the_order_of_their_partitions():
    late = Move(TopicPartition("b", 0), 1, 2, Reason.RELIEVES)
    early = Move(TopicPartition("a", 10), 9, 0, Reason.RELIEVES)
    assert sorted([late, early]) == [early, late]

"""Result of a manual placement order, with the moves that it made."""

from balancer.decision.placement import Scope
from balancer.topic_partition import TopicPartition
from replicator.orders.order_records import ByHand
from tests.tui.balance_records import FIELDS, NOW_MS, placed
from tui.facts.manual_placement_result import CarrierChange, ManualPlacement, Result

ORDER = ByHand(**FIELDS, id="one", scope=Scope.STICKY, generation=3)
MOVED = placed(4).model_copy(
    update={"topics": {0: (("orders", (0, 1)),), 1: (("orders", (2,)),)}},
)


def test_moves_are_the_partitions_that_have_another_carrier_than_before():
    found = ManualPlacement(ORDER, None, placed(3), MOVED, None, NOW_MS)
    assert found.moves == [CarrierChange(TopicPartition("orders", 1), 1, 0)]
    first = ManualPlacement(ORDER, None, None, placed(1), None, NOW_MS)
    assert [each.source for each in first.moves] == [None] * 3


def test_without_an_answer_an_order_that_was_written_is_unknown_and_another_stale():
    written = ManualPlacement(ORDER, None, placed(3), None, None, NOW_MS)
    assert (written.result, written.newest_generation) == (Result.UNKNOWN, 3)
    stale = ManualPlacement(ORDER, None, None, None, None, NOW_MS, is_written=False)
    assert (stale.result, stale.newest_generation) == (Result.STALE, 0)

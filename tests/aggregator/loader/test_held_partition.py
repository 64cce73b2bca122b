"""Held partition: what its checks and its reader are told."""

from aggregator.intents.intent import Intent
from aggregator.intents.table_range import TableRange
from aggregator.loader.block_partition import held_for_blocks
from balancer.topic_partition import TopicPartition
from replicator.kafka.client.custody import Custody


def test_a_log_that_is_cut_is_compared_with_the_blocks_that_are_read_again():
    intent = Intent(
        custody=Custody.HELD,
        offset=105,
        tables={"delays": TableRange(105, 130, 13, "h", 1), "gates": TableRange(140, 140)},
        reference=105,
        transactional_id="loader",
    )
    held = held_for_blocks(TopicPartition("flights", 0), intent, leader_epoch=3)
    assert (held.position, held.sealed_end) == (105, 140)

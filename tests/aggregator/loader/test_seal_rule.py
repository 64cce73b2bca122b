"""Sizes at which a loader seals buffers follow from its settings."""

import pytest

from aggregator.loader.seal_rule import MIB, SealRule, seal_rule
from replicator.config.feed_settings import ANY_FEED, Feed

FEED = Feed.model_validate({**ANY_FEED, "block_mib": 10.0})


@pytest.mark.parametrize(
    ("memory_mib", "partitions", "mib"),
    [(512, 1, 15), (512, 17, 15), (512, 64, 4), (512, 0, 15), (64, 1000, 0.032)],
)
def test_buffers_of_a_partition_may_fill_half_of_its_part_of_the_memory(
    memory_mib, partitions, mib
):
    rule = seal_rule(FEED, memory_mib * MIB, partitions)
    assert rule.partition_bytes_max == int(mib * MIB)
    assert rule.bytes_max == 10 * MIB


@pytest.mark.parametrize(
    ("sizes", "largest"),
    [
        ({}, ""),
        ({"a": 9}, ""),
        ({"a": 10}, "a"),
        ({"a": 4, "b": 5}, ""),
        ({"a": 4, "b": 6}, "b"),
        ({"a": 7, "b": 9, "c": 4}, "ab"),
    ],
)
def test_the_fewest_buffers_are_sealed_that_leave_the_others_room(sizes, largest):
    rule = SealRule(bytes_max=100, records_max=100, age_seconds=1.0, partition_bytes_max=10)
    assert rule.largest(sizes) == set(largest)

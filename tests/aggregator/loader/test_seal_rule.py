"""Sizes at which a loader seals buffers follow from its settings and from what it buffers."""

from dataclasses import replace

import pytest

from aggregator.loader.seal_rule import MIB, READ_PART, SealRule, seal_rule
from replicator.config.feed_settings import ClickHouseFeed
from tests.replicator.config.any_feed import ANY_FEED

FEED = ClickHouseFeed.model_validate({**ANY_FEED, "block_mib": 10.0})
RULE = SealRule(
    bytes_max=100, records_max=100, age_seconds=1.0, partition_bytes_max=10, loader_bytes_max=50
)


def test_a_partition_may_buffer_half_of_three_blocks_and_a_loader_a_quarter_of_its_memory():
    rule = seal_rule(FEED, 512 * MIB)
    assert rule.bytes_max == 10 * MIB
    assert (rule.partition_bytes_max, rule.loader_bytes_max) == (15 * MIB, 128 * MIB)


def test_a_block_takes_a_sixteenth_of_the_memory_at_most():
    assert seal_rule(FEED, 64 * MIB).bytes_max == 4 * MIB


@pytest.mark.parametrize(("columns", "records"), [(0, 100), (1, 100), (10, 100), (500, 3)])
def test_rows_of_many_columns_are_few(columns, records):
    rule = replace(RULE, forms_bytes_max=3 * 24_000)
    assert rule.for_columns(columns).records_max == records


def test_a_block_is_expected_to_take_the_memory_of_its_cells_and_of_its_records():
    assert RULE.forms_bytes(90, 50, 0) == 3 * 90
    assert RULE.forms_bytes(900, 50, 0) == 3 * 100  # the rest of the buffer is in the next block
    assert RULE.forms_bytes(90, 50, 10) == 3 * (90 + 16 * 500)
    assert RULE.forms_bytes(90, 5000, 10) == 3 * (90 + 16 * 1000)


@pytest.mark.parametrize(
    ("buffered", "partition_bytes_max"),
    [([], 10), ([49], 10), ([9] * 5, 10), ([10] * 5, 10), ([5] * 10, 5), ([5] * 10 + [0] * 90, 5)],
)
def test_partitions_share_the_memory_only_while_it_is_short(buffered, partition_bytes_max):
    expected = replace(RULE, partition_bytes_max=partition_bytes_max)
    assert RULE.while_buffered(buffered) == expected


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
    assert RULE.largest(sizes) == set(largest)


@pytest.mark.parametrize(
    ("partition", "loader", "stops"),
    [(299, 99, False), (300, 99, True), (10, 100, True)],
)
def test_a_partition_is_not_fetched_beyond_three_blocks_or_half_of_the_memory(
    partition, loader, stops
):
    assert RULE.stops_reading(partition, loader) is stops


def test_the_reader_stops_where_the_rule_says_so():
    rule = seal_rule(FEED, 512 * MIB)
    assert rule.stops_reading(0, int(READ_PART * 512 * MIB))
    assert not rule.stops_reading(0, int(READ_PART * 512 * MIB) - 1)

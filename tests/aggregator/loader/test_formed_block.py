"""Formed block: its name is that of the range as it was sealed."""

from __future__ import annotations

import pytest

from aggregator.intents.table_range import TableRange
from aggregator.loader.formed_block import FormedBlock
from aggregator.tables.decoded import Decoded
from aggregator.tables.table_schema import Column, TableSchema
from balancer.topic_partition import TopicPartition

ORDERS = TopicPartition("orders", 3)
LOGS = Column("_incarnation", "UInt64")


@pytest.mark.parametrize("left", [(100, 150), (100, 130), (120, 150), (110, 120)])
def test_a_block_of_which_a_loss_has_left_a_part_has_the_name_of_the_whole(left):
    """An insert of the whole may still run: under another name, nobody would wait for it."""
    found = TableRange(100, 150, 50).within(*left)
    assert (found.begin, found.end) == left
    block = FormedBlock("flights", found, Decoded(), TableSchema("flights", ()), False, 9)
    assert str(block.name("air", "east", ORDERS)) == "sluice-air-east-orders-3-flights-100-150"


def test_only_a_table_that_tells_logs_apart_has_them_in_the_names_of_blocks():
    schema = TableSchema("flights", (LOGS,))
    block = FormedBlock("flights", TableRange(1, 2), Decoded(), schema, True, 9)
    assert str(block.name("air", "east", ORDERS)) == "sluice-air-east-orders-3+9-flights-1-2"

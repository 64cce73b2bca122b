"""Receipts of blocks, in the form that Spark takes."""

from datetime import UTC, datetime

from aggregator.loader.receipts import SCHEMA, BlockReceipt, to_arrow
from balancer.topic_partition import TopicPartition

RECEIPT = BlockReceipt(
    place=TopicPartition("docs", 3),
    table="flights",
    begin=10,
    end=20,
    records=9,
    rows=8,
    dead_letters=1,
    is_replayed=True,
    sealed_at_ms=1_700_000_000_123,
    loaded_at_ms=1_700_000_001_000,
)


def test_a_receipt_says_what_was_stored_and_when():
    [row] = to_arrow("feed", "east aggregate", 2, 7, [RECEIPT]).to_pylist()
    assert (row["table"], row["begin"], row["end"], row["rows"]) == ("flights", 10, 20, 8)
    assert row["sealed_at"] == datetime.fromtimestamp(1_700_000_000.123, UTC)
    assert row["replayed"] is True


def test_times_have_the_resolution_of_microseconds():
    assert [str(SCHEMA.field(name).type) for name in ("sealed_at", "ended_at")] == [
        "timestamp[us, tz=UTC]"
    ] * 2


def test_no_blocks_give_no_rows():
    assert to_arrow("feed", "east aggregate", 0, 1, []).num_rows == 0

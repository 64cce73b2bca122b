"""Ledger entries for tests: each test names only the fields that its claim is about."""

from dataclasses import replace
from typing import Any

from balancer.topic_partition import TopicPartition
from replicator.mirror.ledger.entry import Custody, Entry

PARTITION = TopicPartition("flights", 0)

HELD = Entry(
    custody=Custody.HELD,
    source_offset=0,
    target_offset=0,
    producer_id=1,
    epoch=0,
    sequence=0,
    transactional_id="sluice.west.east.0",
)


def held(**changes: Any) -> Entry:
    """Returns the entry of a writer that has just begun, with the given fields changed."""
    return replace(HELD, **changes)

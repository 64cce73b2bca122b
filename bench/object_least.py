"""Fewest objects that can hold a load, each with records of one Kafka partition and one folder."""

from __future__ import annotations

from collections import Counter
from itertools import count

from aggregator.formats.record_fields import split
from aggregator.objects.partitioner import ByField
from bench.feed_load import BATCH_ROWS, different_batches
from bench.ground import PARTITIONS
from bench.object_system import ObjectOrder
from replicator.batches.records import opened


def least_objects(order: ObjectOrder) -> int:
    """Returns the fewest objects of a full topic. One that has no limit of records may be as large
    as its folder."""
    if order.field is None:
        return PARTITIONS * (order.load.hours if order.is_hourly else 1)
    # Batches go to the partitions in turn: see bench.load.send_batches.
    partitioner = ByField([order.field])
    kinds = []
    for batch in different_batches(order.load):
        found = partitioner.folders(0, split(opened(bytes(batch), [0])))
        kinds.append(Counter(found.names[number] for number in found.number.tolist()))
    records: Counter[tuple[int, str]] = Counter()
    for number, partition in zip(
        range(order.load.rows // BATCH_ROWS), (at % PARTITIONS for at in count()), strict=False
    ):
        for name, more in kinds[number % len(kinds)].items():
            records[partition, name] += more
    limit = order.object_records
    return sum(-(-each // limit) if limit else 1 for each in records.values())

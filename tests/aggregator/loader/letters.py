"""Dead letters for tests: made of records, and read back from the batches that are produced."""

from __future__ import annotations

import numpy as np

from aggregator.formats.record_fields import split
from aggregator.loader.dead_letters import dead_letters
from aggregator.loader.produced import Limits, Produced, packed
from aggregator.tables.decoded import DeadRecord
from balancer.topic_partition import TopicPartition
from replicator.batches.batch import header_at, stamp
from replicator.batches.records import Records, opened
from tests.aggregator.formats.header_samples import encoded_by_hand, field

PLACE = TopicPartition("flights", 5)
NOW_MS = 1_800_000_000_000


def sliced(records):
    """Returns records at offsets from 10 on, as they are fetched."""
    tails = [field(key) + field(value) + encoded_by_hand(it) for key, value, it, _ in records]
    ends = np.cumsum([len(tail) for tail in tails])
    begins = ends - [len(tail) for tail in tails]
    times = np.array([time for *_, time in records])
    offsets = np.arange(10, 10 + len(records))
    return split(Records(b"".join(tails), offsets, times, begins, ends, 0))


def written(letters: list[Produced], limits: Limits = Limits()):  # noqa: B008
    """Returns what a reader finds of letters: time, key, value and headers of each."""
    found, first = [], 0
    while first < len(letters):
        batch = packed(letters, first, limits, NOW_MS)
        assert len(batch.data) <= limits.batch_bytes or batch.count == 1
        stamp(
            batch.data,
            producer_id=1,
            producer_epoch=0,
            base_sequence=first,
            is_transactional=True,
        )
        assert header_at(batch.data).count == batch.count
        part = split(opened(bytes(batch.data), [0]))
        for at in range(len(part)):
            headers = tuple(
                (name.encode(errors="surrogateescape"), value)
                for name, value in part.headers_at(at)
            )
            record = (int(part.timestamp_ms[at]), part.key_at(at), part.value_at(at), headers)
            found.append(record)
        first += batch.count
    return found


def letter(key: bytes | None, value: bytes | None, headers=()) -> Produced:
    records = [(key, value, tuple(headers), 5)]
    dead = [DeadRecord(10, "it is none")]
    (found,) = dead_letters("lake", PLACE, "east", "t", [sliced(records)], dead)
    return found

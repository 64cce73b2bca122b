"""From which record on another producer writes a partition: its carrier has changed."""

from __future__ import annotations

from replicator.batches.batch import scan
from replicator.kafka.cluster import Cluster

READ_BYTES = 1 << 20


async def other_writer(cluster: Cluster, topic: str, partition: int, begin: int) -> int:
    """The first offset, from `begin` on, of another producer id than the first data batch has.

    Raises LookupError where one producer has written all.

    Carriers have producer ids of their own. What a takeover writes is markers, and these count for
    nothing: they bear the id of the writer that is fenced.
    """
    first: int | None = None
    while data := await cluster.read(topic, partition, begin, READ_BYTES):
        for _, header in scan(data):
            begin = header.next_offset
            if header.is_control:
                continue
            if first is None:
                first = header.producer_id
            if header.producer_id != first:
                return header.base_offset
    raise LookupError(f"{topic}-{partition}: one producer has written all of it, up to {begin}")

"""First record of a partition that another producer wrote: the sign that its carrier has
changed."""

from __future__ import annotations

from replicator.batches.batch import scan
from replicator.kafka.client.cluster import Cluster

READ_BYTES = 1 << 20


async def other_writer(cluster: Cluster, topic: str, partition: int, begin: int) -> int:
    """Returns the first offset, from `begin` on, with another producer id than the first data
    batch.

    Raises LookupError if one producer has written everything.

    Each carrier has a producer id of its own. A takeover writes only markers. They are skipped,
    since they have the id of the fenced producer.
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

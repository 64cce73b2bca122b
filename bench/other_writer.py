"""From which record on another producer writes a partition: its carrier has changed."""

from __future__ import annotations

from replicator.batches.batch import scan
from replicator.kafka.cluster import Cluster

READ_BYTES = 1 << 20


async def other_writer(cluster: Cluster, topic: str, partition: int, begin: int) -> int | None:
    """The first offset of the first producer id after that of the batch at `begin`; None where
    the log ends before.

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
    return None

"""Source cluster with one partition, and its fetch responses, as tests set them up."""

from __future__ import annotations

import asyncio
import struct
from types import SimpleNamespace
from uuid import UUID

from replicator.kafka.client.cluster_metadata import Leader, Topic
from replicator.kafka.protocol.fetch import FetchRequest
from tests.replicator.batches.source_batches import encoded, one_record

TOPIC = UUID(int=1)
STABLE_OFFSET = 200
REPORTED_AT = 1_700_000_000.0


def batch(offset: int, epoch: int) -> bytes:
    data = bytearray(encoded([one_record(0)]))
    struct.pack_into(">q", data, 0, offset)
    struct.pack_into(">i", data, 12, epoch)
    return bytes(data)


class Source:
    """Source with one partition and elections at will; the test answers each fetch.

    Leader epoch 5 ends at offset 100 in the log of its successor.
    """

    name, trouble = "west", ""

    def __init__(self) -> None:
        self.known = Leader(1, 5)
        self.fetches: asyncio.Queue[tuple[int, asyncio.Future]] = asyncio.Queue()
        self.requests: list[FetchRequest] = []

    def topic(self, name):
        return Topic(TOPIC, {0: self.known})

    def leader(self, topic, partition):
        return self.known

    def reported_leader(self, topic, partition):
        return self.known

    async def try_refresh(self):
        pass

    async def log_start(self, topic, partition):
        return 0

    async def log_end(self, topic, partition):
        return 130

    async def epoch_end(self, topic, partition, epoch):
        return 100 if epoch == 5 else 130

    async def send(self, node, request, purpose):
        self.requests.append(request)
        answer = asyncio.get_running_loop().create_future()
        self.fetches.put_nowait((node, answer))
        return await answer


def answered(records: bytes) -> SimpleNamespace:
    row = (0, 0, STABLE_OFFSET, STABLE_OFFSET, 0, None, -1, memoryview(bytearray(records)), {})
    topics = [(TOPIC, [row], {})]
    return SimpleNamespace(throttle_time_ms=0, error_code=0, session_id=0, topics=topics)

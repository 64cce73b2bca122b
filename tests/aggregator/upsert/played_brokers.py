"""Brokers whose logs a test sets up, for readers of ranges."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from types import SimpleNamespace
from uuid import UUID

from aggregator.upsert.range_reader import LaneSpan
from aggregator.upsert.tick import Lane
from replicator.kafka.client.cluster_metadata import Leader, Topic
from replicator.kafka.protocol.error_codes import Code
from replicator.kafka.protocol.fetch import FetchRequest, FetchStruct
from tests.replicator.batches.source_batches import Record, encoded

ORDERS, RETURNS = UUID(int=1), UUID(int=2)


def batch(
    *offsets: int, base: int | None = None, end: int | None = None, bytes_each=10, epoch=0
) -> bytes:
    """Returns a batch; base and end are wider than its offsets after a compaction."""
    records = [Record(at, 1000 + at, b"key", b"v" * bytes_each) for at in offsets]
    data = bytearray(encoded(records, base_offset=base, next_offset=end))
    struct.pack_into(">i", data, 12, epoch)
    return bytes(data)


@dataclass
class Log:
    """Log of a partition: batches by their first offset.

    Args:
        epoch_end: end of all older leader epochs; -1: the leader does not know them.
    """

    batches: list[tuple[int, int, bytes]]
    start: int = 0
    stable: int = 0
    aborted: list[tuple[int, int]] = field(default_factory=list)
    epoch_end: int = -1

    @classmethod
    def of(cls, *batches: bytes, stable: int, **options) -> Log:
        found = []
        for each in batches:
            base = struct.unpack_from(">q", each, 0)[0]
            found.append((base, base + struct.unpack_from(">i", each, 23)[0] + 1, each))
        return cls(found, stable=stable, **options)

    def since(self, offset: int, bytes_max: int) -> bytes:
        left = b"".join(data for _, end, data in self.batches if end > offset)
        return left[: max(bytes_max, 61)]


@dataclass(eq=False)
class PlayedBrokers:
    """Cluster of two brokers that answers fetches by topic id from logs of the test."""

    name: str
    logs: dict[tuple[UUID, int], Log]
    names: dict[str, UUID]
    nodes_away: set[int] = field(default_factory=set)
    codes: dict[tuple[UUID, int], list[int]] = field(default_factory=dict)
    fetches: list[list[tuple[UUID, int, int, int]]] = field(default_factory=list)
    missing: float = 0.0
    is_forbidden: bool = False
    trouble: str = ""
    response_bytes_max: int = 1 << 30

    def watch(self, topics: Iterable[str]) -> None:
        pass

    async def try_refresh(self) -> None:
        pass

    def topic(self, name):
        found = self.names.get(name)
        return found and Topic(found, {})

    def missing_seconds(self, name):
        return self.missing

    def is_refused(self, name):
        return self.is_forbidden

    def leader(self, topic, partition):
        return Leader(partition % 2, 1) if topic in self.names else None

    async def log_start(self, topic, partition):
        return self.logs[self.names[topic], partition].start

    async def log_end(self, topic, partition):
        return self.logs[self.names[topic], partition].stable

    async def epoch_end(self, topic, partition, epoch):
        return self.logs[self.names[topic], partition].epoch_end

    async def send(self, node, request: FetchRequest, purpose):
        if node in self.nodes_away:
            raise OSError("connection refused")
        room, topics, asked = self.response_bytes_max, [], []
        for topic, rows, _ in request.build(FetchStruct).topics:
            answers = []
            for partition, _, offset, _, _, bytes_max, _ in rows:
                assert partition % 2 == node
                asked.append((topic, partition, offset, bytes_max))
                row, size = self._row(topic, partition, offset, min(bytes_max, room))
                room -= size
                answers.append(row)
            topics.append((topic, answers, {}))
        self.fetches.append(asked)
        return SimpleNamespace(throttle_time_ms=0, error_code=0, topics=topics)

    def _row(self, topic, partition, offset, bytes_max):
        log = self.logs.get((topic, partition))
        planned = self.codes.get((topic, partition), [])
        code = planned.pop(0) if planned else 0
        if log is None:
            code = Code.UNKNOWN_TOPIC_ID
        elif not log.start <= offset <= log.stable:
            code = Code.OFFSET_OUT_OF_RANGE
        if code:
            return (partition, code, -1, -1, -1, None, -1, None, {}), 0
        data = log.since(offset, bytes_max) if bytes_max > 0 else b""
        view = memoryview(bytearray(data)) if data else None
        return (partition, 0, log.stable, log.stable, log.start, log.aborted, -1, view, {}), len(
            data
        )


def brokers(name="west regional", **logs: Log) -> PlayedBrokers:
    """Returns a cluster with the logs orders0, orders1, returns0 ..."""
    ids = {"orders": ORDERS, "returns": RETURNS}
    by_place = {(ids[key[:-1]], int(key[-1])): log for key, log in logs.items()}
    return PlayedBrokers(name, by_place, ids)


def span(
    number, partition, begin, end, *, topic="orders", cluster="west regional", epoch=-1
) -> LaneSpan:
    topic_id = ORDERS if topic == "orders" else RETURNS
    return LaneSpan(number, Lane(cluster, topic, topic_id, partition), begin, end, epoch)

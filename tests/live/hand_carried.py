"""Aggregates that a test fills itself, so that every offset on both ends is known exactly.

Each record names its source region and offset, so that a test can count what a group has read.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from aiokafka.protocol.commit import OffsetCommitRequest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as KafkaTopicPartition

from balancer.topic_partition import TopicPartition
from deploy.lab.kafka import KafkaCluster as LabCluster
from replicator.config.names import runs_topic_name, witness_group
from replicator.config.topology import Appliance, KafkaCluster, Route
from replicator.groups.copies.commit_store import CommitStore
from replicator.groups.copies.runs_copies import RunsCopies
from replicator.groups.progress.vector_metadata import encode as vector_metadata
from replicator.kafka.admin.admin import Admin
from replicator.kafka.client.cluster import GROUP, Cluster
from replicator.kafka.protocol.commit_record import Commit, Committed
from replicator.kafka.tail.consumer_offsets import CommitRecord
from replicator.kafka.tail.tail_position import Portion, TailPosition, Version, VersionedRecord
from replicator.mirror.ledger.entry import encode
from replicator.mirror.ledger.ledger import group_of
from replicator.mirror.offset_map.offset_store import OffsetStore
from replicator.mirror.offset_map.packed_map import pack_segment
from replicator.mirror.offset_map.run_segment import RunBuffer
from replicator.mirror.offset_map.runs_topic import RunsKey
from tests.live.copying import opening
from tests.live.runs import create_runs_topic
from tests.replicator.mirror.ledger.held import held

Record = tuple[str, int]
"""Source region and source offset of a record."""
Row = tuple[str, TopicPartition, int, str]
"""A commit: group, partition, offset, metadata."""


class HandCarried:
    """Regions under unique names.

    Args:
        aggregates: clusters, by the region names that the test uses.
        away: further regions, whose servers do not exist.
        redis_url: of the server; each region has a database of its own.
        copies_commits: whether this class fills the copies of commits; otherwise a copier does.
    """

    def __init__(
        self,
        aggregates: Mapping[str, LabCluster],
        redis_url: str,
        away: Sequence[str] = (),
        *,
        copies_commits: bool = True,
    ) -> None:
        self._copies_commits = copies_commits
        self._mark = uuid.uuid4().hex[:6]
        self._clusters = dict(aggregates)
        nowhere = (f"127.0.0.1:{port}" for port in range(1, 1000))
        names = [*aggregates, *away]
        self.name = {name: f"{name}-{self._mark}" for name in names}
        tables = {
            self.name[name]: {
                "regional": {"bootstrap": [next(nowhere)]},
                "aggregate": aggregates[name].topology_table()
                if name in aggregates
                else {"bootstrap": [next(nowhere)]},
                "redis": f"{redis_url.rstrip('/').removesuffix('/0')}/{at}",
            }
            for at, name in enumerate(names)
        }
        self.appliance = Appliance.model_validate({"regions": tables})
        self.source_ids: dict[tuple[str, str], UUID] = defaultdict(uuid.uuid4)
        self._topic_ids: dict[tuple[str, str], UUID] = {}
        self._witnessed: set[Route] = set()
        self._landed: dict[tuple[Route, TopicPartition], RunBuffer] = {}
        self._published: dict[tuple[Route, TopicPartition], tuple[int, int]] = {}
        self._logs: dict[tuple[str, TopicPartition], list[Record]] = defaultdict(list)
        self._positions: dict[tuple[str, str], int] = defaultdict(int)

    def url(self, name: str) -> str:
        return self.appliance.region(self.name[name]).redis_url()

    def route(self, source: str, target: str) -> Route:
        return Route(self.name[source], self.name[target])

    def settings(self, name: str) -> KafkaCluster:
        return self.appliance.region(self.name[name]).aggregate

    def log(self, name: str, partition: TopicPartition) -> list[Record]:
        """Returns the records of a region's aggregate, by offset."""
        return self._logs[name, partition]

    # -- records

    def land(self, where: str, partition: TopicPartition, *blocks: tuple[str, int]) -> None:
        """Appends the next `count` records of each region, one block after the other.

        For a region that is away the records are only noted.
        """
        cluster = self._clusters.get(where)
        producer = cluster and Producer(cluster.librdkafka_options())
        log = self._logs[where, partition]
        for origin, count in blocks:
            route = self.route(origin, where)
            begin, _ = self._published.get((route, partition), (0, 0))
            gathering = self._landed.setdefault((route, partition), RunBuffer(begin))
            for source_offset in range(begin, begin + count):
                gathering.land(source_offset, len(log), 1)
                log.append((origin, source_offset))
                text = f"{origin} {source_offset}".encode()
                if producer:
                    producer.produce(partition.topic, text, partition=partition.partition)
            self._published[route, partition] = begin + count, len(log)
        assert not producer or producer.flush(30) == 0

    def publish(self, where: str, *, but: Iterable[str] = (), runs: bool = True) -> None:
        """Publishes runs and ledger entries of the landed records, to the region's cluster and to
        the copies of all others.

        Args:
            but: source regions whose routes publish nothing.
        """
        rows: list[Row] = []
        for route, partition in self._published:
            origin = route.source.removesuffix(f"-{self._mark}")
            if route.target != self.name[where] or origin in but:
                continue
            key = self.key(origin, where, partition)
            pieces = [pack_segment(it) for it in self._landed[route, partition].take()]
            for name in self.name if runs else ():
                with OffsetStore(self.url(name), route.key) as store:
                    store.copy(key, pieces)
            rows.append(self.row(origin, where, partition))
            self.witness(origin, where, partition.topic)
        self.commit_rows(where, rows)

    def entry(self, origin: str, where: str, partition: TopicPartition, **changes: object) -> None:
        """Commits a ledger entry that differs from the one of publish()."""
        self.commit_rows(where, [self.row(origin, where, partition, **changes)])

    def row(self, origin: str, where: str, partition: TopicPartition, **changes: Any) -> Row:
        route, key = self.route(origin, where), self.key(origin, where, partition)
        source_end, target_end = self._published.get((route, partition), (0, 0))
        entry = held(
            source_offset=source_end,
            target_offset=target_end,
            transactional_id="x",
            source_topic=UUID(hex=key.source_topic_id),
            target_topic=UUID(hex=key.target_topic_id),
        )
        return group_of(route, partition), partition, *encode(replace(entry, **changes))

    def key(self, origin: str, where: str, partition: TopicPartition) -> RunsKey:
        there = self._topic_ids.get((where, partition.topic))
        if there is None and where not in self._clusters:
            there = self._topic_ids[where, partition.topic] = uuid.uuid4()
        if there is None:
            (topic,) = Admin(where, self.settings(where)).topics([partition.topic])
            there = self._topic_ids[where, partition.topic] = topic.topic_id
        return RunsKey(*partition, self.source_ids[origin, partition.topic].hex, there.hex)

    # -- commits

    def commit(
        self,
        where: str,
        group: str,
        offsets: Mapping[TopicPartition, int],
        vector: Mapping[str, int] | None = None,
    ) -> None:
        """Commits a group's offsets, with the vector (by the test's names) as metadata."""
        named = {self.name.get(name, name): offset for name, offset in (vector or {}).items()}
        beside = vector_metadata(named) if vector else ""
        self.commit_rows(
            where, [(group, partition, it, beside) for partition, it in offsets.items()]
        )

    def commit_rows(self, where: str, rows: list[Row]) -> None:
        """Commits rows to the region's cluster and adds them to the copies of the others."""
        if where in self._clusters:
            self.commit_uncopied(where, rows)
        for peer in self.name:
            if peer != where:
                self.copied_only(peer, where, rows)

    def commit_uncopied(self, where: str, rows: list[Row]) -> None:
        """Commits rows to the region's cluster, and to no copy."""
        asyncio.run(self._committed(where, rows))

    def copied_only(self, peer: str, where: str, rows: list[Row]) -> None:
        """Adds commits to one region's copy only; no cluster holds them (any more)."""
        self.copied(
            peer,
            where,
            [
                CommitRecord(Committed(g, *partition), Commit(it, text, 1))
                for g, partition, it, text in rows
            ],
        )

    def witness(self, origin: str, where: str, topic: str, partitions: int = 1000) -> None:
        """Commits a witness: this many partitions of the topic were adopted."""
        route = self.route(origin, where)
        witnessed = TopicPartition(runs_topic_name(route.key), 0)
        if where in self._clusters and route not in self._witnessed:
            create_runs_topic(self._clusters[where], route.key)
            self._witnessed.add(route)
        self.commit_rows(where, [(witness_group(route.key, topic), witnessed, partitions, "")])

    def copied(self, peer: str, where: str, records: Sequence[CommitRecord] = ()) -> None:
        """Adds commits to a copy and marks the copies as caught up now."""
        now_ms = time.time_ns() // 1_000_000
        begin = self._positions[peer, where]
        end = self._positions[peer, where] = begin + len(records)
        rows = tuple(
            VersionedRecord(Version(0, at), each) for at, each in enumerate(records, begin)
        )
        portion = Portion(TailPosition("log", 0, begin), TailPosition("log", 0, end), rows, now_ms)
        start = TailPosition("log", 0)
        if self._copies_commits:
            with CommitStore(self.url(peer), self.name[where]) as store:
                store.put(opening(0, begin=start))
                store.put({0: portion})
        for route in self.appliance.routes_into(self.name[where]):
            with RunsCopies(self.url(peer), route.key) as copies:
                copies.put(opening(0, begin=start))
                copies.put({0: Portion(start, start, (), now_ms)})

    def begin_copies_anew(self) -> None:
        """Lets all copies of commits begin again, as after a flush of their Redis."""
        self._positions.clear()

    async def _committed(self, where: str, rows: list[Row]) -> None:
        cluster = Cluster(where, self.settings(where))
        await cluster.open()
        by_group: dict[str, dict[str, list[tuple[int, int, str]]]] = defaultdict(dict)
        for group, (topic, partition), offset, metadata in rows:
            by_group[group].setdefault(topic, []).append((partition, offset, metadata))
        try:
            for group, topics in by_group.items():
                request = OffsetCommitRequest(group, -1, "", -1, list(topics.items()))
                await cluster.ask_coordinator(
                    GROUP, group, request, lambda r: [c for _, some in r.topics for _, c in some]
                )
        finally:
            await cluster.close()

    # -- reading

    def read(self, where: str, partition: TopicPartition, offset: int) -> list[Record]:
        """Reads from an offset to the end, as a consumer does that begins there."""
        consumer = Consumer(
            {**self._clusters[where].librdkafka_options(), "group.id": "reads-only"}
        )
        try:
            consumer.assign([KafkaTopicPartition(*partition, offset)])
            wanted, found = len(self.log(where, partition)) - offset, []
            give_up_at = time.monotonic() + 30
            while len(found) < wanted and time.monotonic() < give_up_at:
                for message in consumer.consume(500, 0.2):
                    assert message.error() is None
                    origin, at = message.value().decode().split()
                    found.append((origin, int(at)))
            return found
        finally:
            consumer.close()

"""Ledger entries of a cluster, read from outside the carriers: for status and failover plans."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Self

from balancer.topic_partition import TopicPartition
from replicator.config.names import runs_topic_name, witness_group
from replicator.config.topology import KafkaCluster, Route
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Cluster
from replicator.kafka.client.committed_entries import read_commits
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata
from replicator.mirror.ledger.entry import Entry, UnreadableEntry, decode
from replicator.mirror.ledger.ledger import group_of
from replicator.runtime.gather import gather_or_cancel


@dataclass(frozen=True, slots=True)
class Entries:
    """Ledger entries of a route's partitions.

    Args:
        read: the entries that could be decoded.
        unreadable: the error text for each entry that could not.
        adopted: by topic with a partition without an entry, how many partitions were ever adopted.
            0 means that no record of the topic came by this route.
    """

    read: Mapping[TopicPartition, Entry] = field(default_factory=dict)
    unreadable: Mapping[TopicPartition, str] = field(default_factory=dict)
    adopted: Mapping[str, int] = field(default_factory=dict)


class LedgerReader:
    """Reader of one cluster's ledger, which keeps its connections between calls.

    All calls have to come from one thread, in which no event loop runs.

    Args:
        name: of the cluster, for people.
        timeout_seconds: for each call.
    """

    def __init__(self, name: str, settings: KafkaCluster, timeout_seconds: float) -> None:
        self._name, self._settings = name, settings
        self._timeout_seconds = timeout_seconds
        self._runner = asyncio.Runner()
        self.cluster: Cluster | None = None
        """Connections, kept from one question to the next; None when there are none."""

    def entries(self, asked: Mapping[Route, Iterable[TopicPartition]]) -> dict[Route, Entries]:
        """Returns the entries of routes into the cluster; waits through elections.

        Raises:
            Unreachable: no broker answers, or the timeout is over.
            Answered: a broker refuses the request.
        """
        by_route = {route: list(partitions) for route, partitions in asked.items()}
        try:
            return self._runner.run(self._read(by_route))
        except TimeoutError:
            text = f"{self._name}: reading the ledger took longer than {self._timeout_seconds:g} s"
            raise Unreachable(text) from None

    def close(self) -> None:
        if self.cluster is not None:
            self._runner.run(self.cluster.close())
            self.cluster = None
        self._runner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def _read(self, asked: Mapping[Route, list[TopicPartition]]) -> dict[Route, Entries]:
        is_done = False
        try:
            async with asyncio.timeout(self._timeout_seconds):
                cluster = await self._opened()
                reads = (_read_route(cluster, *each) for each in asked.items())
                found = await gather_or_cancel(*reads)
            is_done = True
        finally:
            if not is_done and self.cluster is not None:
                # The next call begins with new connections and metadata.
                await self.cluster.close()
                self.cluster = None
        return dict(zip(asked, found, strict=True))

    async def _opened(self) -> Cluster:
        if self.cluster is None:
            self.cluster = Cluster(self._name, self._settings, client_id="sluice-status")
            await self.cluster.open()
        return self.cluster


def entries_of(
    name: str,
    settings: KafkaCluster,
    asked: Mapping[Route, Iterable[TopicPartition]],
    timeout_seconds: float,
) -> dict[Route, Entries]:
    """Returns the entries of routes into one cluster, as LedgerReader does."""
    with LedgerReader(name, settings, timeout_seconds) as reader:
        return reader.entries(asked)


def decoded(
    commits: Mapping[TopicPartition, OffsetAndMetadata], adopted: Mapping[str, int]
) -> Entries:
    """Decodes commits of a ledger's groups into entries, wherever the commits were read."""
    read: dict[TopicPartition, Entry] = {}
    unreadable: dict[TopicPartition, str] = {}
    for partition, commit in commits.items():
        try:
            read[partition] = decode(commit.offset, commit.metadata)
        except UnreadableEntry as error:
            unreadable[partition] = str(error)
    return Entries(read, unreadable, adopted)


async def _read_route(cluster: Cluster, route: Route, partitions: list[TopicPartition]) -> Entries:
    commits = await read_commits(cluster, partial(group_of, route), partitions)
    # Read after the entries: a topic without a witness now had none when its entries were read.
    lacking = sorted({each.topic for each in partitions if each not in commits})
    runs = TopicPartition(runs_topic_name(route.key), 0)
    witnesses = await gather_or_cancel(
        *(
            cluster.commits(witness_group(route.key, topic), [(runs.topic, [0])])
            for topic in lacking
        )
    )
    adopted = {
        topic: found[runs].offset if runs in found else 0
        for topic, found in zip(lacking, witnesses, strict=True)
    }
    return decoded(commits, adopted)

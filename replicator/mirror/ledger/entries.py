"""Ledger entries of a cluster, read from outside the carriers: for status and failover plans."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

from balancer.plan import TopicPartition
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


def entries_of(
    name: str,
    settings: KafkaCluster,
    asked: Mapping[Route, Iterable[TopicPartition]],
    timeout_seconds: float,
) -> dict[Route, Entries]:
    """Returns the entries of routes into one cluster; waits through elections.

    Must not be called from an event loop.

    Raises:
        Unreachable: no broker answers, or the timeout is over.
        Answered: a broker refuses the request.
    """
    by_route = {route: list(partitions) for route, partitions in asked.items()}
    try:
        return asyncio.run(_read(name, settings, by_route, timeout_seconds))
    except TimeoutError:
        text = f"{name}: reading the ledger took longer than {timeout_seconds:g} s"
        raise Unreachable(text) from None


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


async def _read(
    name: str,
    settings: KafkaCluster,
    asked: Mapping[Route, list[TopicPartition]],
    timeout_seconds: float,
) -> dict[Route, Entries]:
    cluster = Cluster(name, settings, client_id="sluice-status")
    async with asyncio.timeout(timeout_seconds):
        await cluster.open()
        try:
            found = await gather_or_cancel(*(_read_route(cluster, *each) for each in asked.items()))
        finally:
            await cluster.close()
    return dict(zip(asked, found, strict=True))


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

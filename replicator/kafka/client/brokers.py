"""Brokers of one Kafka cluster: connections to them, and the topics that their metadata shows.

Connections are kept by broker and purpose.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from aiokafka.errors import KafkaError, SaslAuthenticationFailed

from replicator.config.topology import KafkaCluster
from replicator.kafka.client.connection import Connection, connect
from replicator.kafka.protocol.error_codes import Code
from replicator.kafka.protocol.metadata import MetadataRequest
from replicator.kafka.protocol.topic_id import NO_TOPIC_ID

EACH_SECONDS_MAX = 5.0
"""Time limit for a single broker's answer where the other brokers are asked too."""


class Unreachable(Exception):
    """No broker of the cluster answers. Names the cluster, what was tried, and the remedy."""


@dataclass(frozen=True, slots=True)
class Leader:
    """The broker that leads a partition, and its leader epoch."""

    node: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic as the cluster's metadata shows it. A partition without a leader has None."""

    id: UUID
    leaders: dict[int, Leader | None]


class Brokers:
    """Keeps connections to a cluster's brokers and knows which broker leads which partition.

    Args:
        name: display name of the cluster, such as "west regional".
        settings: the cluster's bootstrap addresses and security.
        options: of aiokafka's connections, beside the security settings. Security settings are read
            anew for each connection, so that a changed password or certificate needs no restart.
    """

    def __init__(self, name: str, settings: KafkaCluster, options: Mapping[str, Any]):
        self.name = name
        self._settings = settings
        self._options = options
        self._brokers: dict[int, tuple[str, int]] = {}
        self._topics: dict[str, Topic] = {}
        self._told: dict[str, Mapping[int, Leader | None]] = {}
        self.cluster_id: str | None = None
        """None until a broker has answered with it."""
        self._missing: dict[str, tuple[float, float]] = {}  # first and last of consecutive answers
        self._refused: set[str] = set()
        self._watched: set[str] = set()
        self._connections: dict[tuple[int, str], Connection] = {}
        self._connecting: dict[tuple[int, str], asyncio.Lock] = {}
        self._refreshing: asyncio.Task[None] | None = None
        self.trouble = ""
        """Why the last request was not answered at once; empty when it was."""

    # -- connections

    async def open(self, topics: Iterable[str] = ()) -> None:
        """Connects and reads the metadata of the topics.

        Raises:
            Unreachable: no bootstrap address answers, or the broker refuses the credentials.
        """
        self._watched |= set(topics)
        failures = []
        for address in self._settings.bootstrap:
            host, _, port = address.rpartition(":")
            try:
                connection = await connect(host.strip("[]"), int(port), **self._all_options())
            except SaslAuthenticationFailed as error:
                raise Unreachable(
                    f"{self.name}: {address} refuses the credentials ({error}); "
                    "mend username and password_file of this cluster"
                ) from error
            except (OSError, KafkaError, TimeoutError) as error:
                failures.append(f"{address} ({error or type(error).__name__})")
                continue
            try:
                await self._read_metadata(connection)
            finally:
                connection.close()
            return
        raise Unreachable(
            f"{self.name}: no broker answers at {', '.join(failures)}; "
            "check bootstrap and the security settings of this cluster, and that it runs"
        )

    async def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()
        if self._refreshing:
            self._refreshing.cancel()

    async def connect(self, node: int) -> Connection:
        """Opens a new connection to a broker; the caller owns it and closes it."""
        if node not in self._brokers:
            await self.refresh()
        host, port = self._brokers[node]
        return await connect(host, port, **self._all_options())

    def _all_options(self) -> dict[str, Any]:
        return self._settings.security.aiokafka_options() | dict(self._options)

    async def send(self, node: int, request: Any, purpose: str = "control") -> Any:
        """Sends a request over the kept connection of this purpose, once no quota mutes it.

        Passes on the network's errors.
        """
        key = (node, purpose)
        connection = self._connections.get(key)
        if connection is None or not connection.connected():
            async with self._connecting.setdefault(key, asyncio.Lock()):
                connection = self._connections.get(key)
                if connection is None or not connection.connected():
                    connection = self._connections[key] = await self.connect(node)
        # A broker reads nothing from a connection that it throttles (KIP-219): a request sent now
        # would spend its time limit waiting there.
        muted_seconds = connection.muted_until - time.monotonic()
        if muted_seconds > 0:
            await asyncio.sleep(muted_seconds)
        try:
            response = await connection.send(request)
        except TimeoutError:
            # A link that drops packets gives no error: the next request must get a new connection.
            connection.close()
            raise
        throttled_ms = getattr(response, "throttle_time_ms", 0)
        if throttled_ms:
            connection.muted_until = time.monotonic() + throttled_ms / 1000
        return response

    # -- metadata

    def watch(self, topics: Iterable[str]) -> None:
        """Adds topics whose leaders must be known after the next refresh."""
        self._watched |= set(topics)

    async def refresh(self) -> None:
        """Reads the metadata again; concurrent callers share one request."""
        if self._refreshing is None or self._refreshing.done():
            self._refreshing = asyncio.ensure_future(self._refresh())
        await asyncio.shield(self._refreshing)

    async def try_refresh(self) -> None:
        """Calls refresh() for callers that ask again anyway: only notes an unreachable cluster."""
        try:
            await self.refresh()
        except Unreachable as error:
            self.trouble = str(error)

    async def anyone(self) -> int:
        """Returns some broker of the cluster.

        Raises:
            KafkaError: the metadata names no broker, as while all are considered dead.
            Unreachable: no broker answers.
        """
        if not self._brokers:
            await self.refresh()
        if not self._brokers:
            raise KafkaError("the metadata names no broker")
        return random.choice(list(self._brokers))

    @property
    def nodes(self) -> list[int]:
        """Node ids of all brokers that the metadata names."""
        return list(self._brokers)

    async def refresh_everywhere(self) -> None:
        """Asks every broker for metadata, in case the first one to answer missed an election."""

        async def ask(node: int) -> None:
            with suppress(OSError, KafkaError, TimeoutError):
                async with asyncio.timeout(EACH_SECONDS_MAX):
                    self._take_metadata(
                        await self.send(node, MetadataRequest(sorted(self._watched)))
                    )

        await self.try_refresh()
        await asyncio.gather(*map(ask, list(self._brokers)))

    async def _refresh(self) -> None:
        nodes = list(self._brokers)
        random.shuffle(nodes)
        for node in nodes:
            try:
                response = await self.send(node, MetadataRequest(sorted(self._watched)))
            except (OSError, KafkaError, TimeoutError) as error:
                self.trouble = f"{self.name}: broker {node}: {error or type(error).__name__}"
                continue
            self._take_metadata(response)
            return
        await self.open()

    async def _read_metadata(self, connection: Connection) -> None:
        self._take_metadata(await connection.send(MetadataRequest(sorted(self._watched))))

    def _take_metadata(self, response: Any) -> None:
        self.cluster_id = response.cluster_id or self.cluster_id
        if response.brokers:
            self._brokers = {row[0]: (row[1], row[2]) for row in response.brokers}
        for code, name, topic_id, _, partitions, *_ in response.topics:
            if code == Code.TOPIC_AUTHORIZATION_FAILED:
                self._refused.add(name)
            else:
                self._refused.discard(name)
            if code == Code.UNKNOWN_TOPIC_OR_PARTITION:
                self._topics.pop(name, None)
                now = time.monotonic()
                first, _ = self._missing.get(name, (now, now))
                self._missing[name] = first, now
                continue
            self._missing.pop(name, None)
            if topic_id != NO_TOPIC_ID:
                leaders = {
                    row[1]: Leader(row[2], row[3]) if row[2] >= 0 else None for row in partitions
                }
                self._told[name] = leaders
                self._topics[name] = Topic(topic_id, _newest(self.topic(name), topic_id, leaders))

    def topic(self, name: str) -> Topic | None:
        """Returns the topic; None if the cluster has no such topic, as of the last refresh."""
        return self._topics.get(name)

    def missing_seconds(self, name: str) -> float:
        """Returns for how many seconds every answer has reported that there is no such topic.

        Returns 0 after the first such answer: a broker that has just started reports it of any
        topic.
        """
        first, last = self._missing.get(name, (0.0, 0.0))
        return last - first

    def is_refused(self, name: str) -> bool:
        """Returns True when we lack the right to describe the topic, whether or not it exists."""
        return name in self._refused

    def leader(self, topic: str, partition: int) -> Leader | None:
        known = self._topics.get(topic)
        return known.leaders.get(partition) if known else None

    def told_leader(self, topic: str, partition: int) -> Leader | None:
        """Returns the leader by the last answer, even if its epoch is older than the one known."""
        return self._told.get(topic, {}).get(partition)

    async def told_by_each(self, topic: str, partition: int) -> list[Leader | None]:
        """Returns the leader that each broker named by the metadata reports in its own answer.

        The leader is None for a broker that does not answer or reports no leader, or whose topic id
        is another than the known one.
        """
        known = self.topic(topic)

        async def ask(node: int) -> Leader | None:
            try:
                async with asyncio.timeout(EACH_SECONDS_MAX):
                    response = await self.send(node, MetadataRequest([topic]))
            except (OSError, KafkaError, TimeoutError, KeyError, Unreachable):
                return None
            for _, name, topic_id, _, partitions, *_ in response.topics:
                if known and (name, topic_id) == (topic, known.id):
                    found = (Leader(row[2], row[3]) for row in partitions if row[1] == partition)
                    return next((each for each in found if each.node >= 0), None)
            return None

        return await asyncio.gather(*map(ask, list(self._brokers)))

    def believe(self, topic: str, partition: int, leader: Leader) -> None:
        """Takes a leader as the known one, even if its epoch is older."""
        known = self._topics[topic]
        self._topics[topic] = replace(known, leaders={**known.leaders, partition: leader})


def _newest(
    known: Topic | None, topic_id: UUID, told: Mapping[int, Leader | None]
) -> dict[int, Leader | None]:
    """Returns the leaders as reported, except those with an older epoch than is known.

    A broker that is cut off from its quorum keeps reporting old leaders.
    """
    before = known.leaders if known and known.id == topic_id else {}
    newest = {}
    for number, leader in told.items():
        older = before.get(number)
        is_stale = leader and older and leader.epoch < older.epoch
        newest[number] = older if is_stale else leader
    return newest

"""Brokers of one Kafka cluster: connections, kept by broker and purpose, and their metadata."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from aiokafka.errors import KafkaError, SaslAuthenticationFailed

from replicator.config.topology import KafkaCluster
from replicator.kafka.client.cluster_metadata import ClusterMetadata, Leader, leader_in
from replicator.kafka.client.connection import Connection, connect
from replicator.kafka.protocol.metadata import MetadataRequest
from replicator.runtime.error_text import error_text

OpenConnection = Callable[..., Awaitable[Connection]]

EACH_SECONDS_MAX = 5.0
"""Time limit for a single broker's answer where the other brokers are asked too."""


class Unreachable(Exception):
    """No broker of the cluster answers. Names the cluster, what was tried, and the remedy."""


class Brokers(ClusterMetadata):
    """Connections to the brokers of one cluster, and the metadata that they answer with.

    Args:
        name: display name of the cluster, such as "west regional".
        settings: the cluster's bootstrap addresses and security.
        options: of aiokafka's connections, beside the security settings. Security settings are read
            anew for each connection, so that a changed password or certificate needs no restart.
        open_connection: opens a connection to a host and port with these options.
    """

    def __init__(
        self,
        name: str,
        settings: KafkaCluster,
        options: Mapping[str, Any],
        open_connection: OpenConnection = connect,
    ):
        super().__init__()
        self.name = name
        self._settings = settings
        self._options = options
        self._open_connection = open_connection
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
                connection = await self._open_connection(
                    host.strip("[]"), int(port), **self._all_options()
                )
            except SaslAuthenticationFailed as error:
                raise Unreachable(
                    f"{self.name}: {address} refuses the credentials ({error}); "
                    "mend username and password_file of this cluster"
                ) from error
            except (OSError, KafkaError, TimeoutError) as error:
                failures.append(f"{address} ({error_text(error)})")
                continue
            try:
                self._update(await connection.send(self._request()))
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
        return await self._open_connection(host, port, **self._all_options())

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

    async def any_node(self) -> int:
        """Returns some broker of the cluster.

        Raises:
            KafkaError: the metadata names no broker, as while all are considered dead.
            Unreachable: no broker answers.
        """
        if not self.nodes:
            await self.refresh()
        if not self.nodes:
            raise KafkaError("the metadata names no broker")
        return random.choice(self.nodes)

    async def refresh_everywhere(self) -> None:
        """Asks every broker for metadata, in case the first one to answer missed an election."""

        async def ask(node: int) -> None:
            with suppress(OSError, KafkaError, TimeoutError):
                async with asyncio.timeout(EACH_SECONDS_MAX):
                    self._update(await self.send(node, self._request()))

        await self.try_refresh()
        await asyncio.gather(*map(ask, self.nodes))

    async def leader_by_each(self, topic: str, partition: int) -> list[Leader | None]:
        """Returns the leader that each broker named by the metadata reports in its own answer.

        The leader is None for a broker that does not answer or reports no leader, or whose topic id
        is another than the known one. The metadata stays as it is.
        """
        known = self.topic(topic)

        async def ask(node: int) -> Leader | None:
            try:
                async with asyncio.timeout(EACH_SECONDS_MAX):
                    response = await self.send(node, MetadataRequest([topic]))
            except (OSError, KafkaError, TimeoutError, KeyError, Unreachable):
                return None
            return leader_in(response, known.id, partition) if known else None

        return await asyncio.gather(*map(ask, self.nodes))

    async def _refresh(self) -> None:
        nodes = self.nodes
        random.shuffle(nodes)
        for node in nodes:
            try:
                response = await self.send(node, self._request())
            except (OSError, KafkaError, TimeoutError) as error:
                self.trouble = f"{self.name}: broker {node}: {error_text(error)}"
                continue
            self._update(response)
            return
        await self.open()

    def _request(self) -> MetadataRequest:
        return MetadataRequest(sorted(self._watched))

    def _update(self, response: Any) -> None:
        self.update_metadata(response, time.monotonic())

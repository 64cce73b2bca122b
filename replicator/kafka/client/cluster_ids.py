"""Cluster ids: no two clusters of the configuration may be the same cluster.

The configuration compares addresses. One cluster can have several: `localhost:9092` and
`127.0.0.1:9092`, a name and its alias, two of its brokers. So the brokers are asked for the cluster
id.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import combinations

from aiokafka.errors import KafkaError

from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Appliance, Route
from replicator.kafka.client.brokers import Brokers, Unreachable

RETRY_SECONDS = 60.0
ANSWER_SECONDS_MAX = 5.0
CLIENT_ID = "sluice-identity"


class SameCluster(Exception):
    """Two clusters of the configuration are one. Correct the file; a restart does not help."""


class ClusterIds:
    """Cluster ids with which the configured clusters have answered. An id is asked for once."""

    def __init__(self, appliance: Appliance) -> None:
        self._appliance = appliance
        self._known: dict[ClusterName, str] = {}

    @property
    def unknown(self) -> list[ClusterName]:
        """Clusters that have not answered yet."""
        return [name for name in self._appliance.cluster_names if name not in self._known]

    async def compare_routes_into(self, region: str) -> None:
        """Asks the clusters of a region's routes; a cluster that does not answer is left out.

        Raises:
            SameCluster: two of the clusters that have answered so far are one.
        """
        await self._compare(ends(self._appliance.routes_into(region)))

    async def compare_until_all_answer(self) -> None:
        """Asks all clusters of the configuration; those that do not answer are asked again each
        minute.

        Returns once all have answered. Raises SameCluster.
        """
        while True:
            await self.compare()
            if not self.unknown:
                return
            await asyncio.sleep(RETRY_SECONDS)

    async def compare(self) -> None:
        """Asks all clusters that have not answered yet, once. Raises SameCluster."""
        await self._compare(self.unknown)

    async def _compare(self, names: Iterable[ClusterName]) -> None:
        await asyncio.gather(*(self._ask(name) for name in names if name not in self._known))
        shared = self._appliance.shared_cluster_ids
        if clash := first_clash({name: i for name, i in self._known.items() if i not in shared}):
            raise SameCluster(self._described(*clash))

    async def _ask(self, name: ClusterName) -> None:
        brokers = Brokers(
            name,
            self._appliance.cluster(name),
            {"client_id": CLIENT_ID, "request_timeout_ms": int(ANSWER_SECONDS_MAX * 1000)},
        )
        # The parts of Sluice that need the cluster report why it is away or refuses us.
        with suppress(Unreachable, KafkaError, OSError, TimeoutError, ValueError):
            async with asyncio.timeout(ANSWER_SECONDS_MAX):
                await brokers.open()
        if brokers.cluster_id:
            self._known[name] = brokers.cluster_id

    def _described(self, one: ClusterName, other: ClusterName) -> str:
        names = " and ".join(map(self._with_addresses, (one, other)))
        return (
            f"{names} are one cluster: both answer with cluster id {self._known[one]}, so "
            f"{harm(one, other, self._appliance.routes)}. Give each its own bootstrap; if they are "
            "separate clusters with one id (a container image's default, a copy of disks), list "
            "the id in shared_cluster_ids"
        )

    def _with_addresses(self, name: ClusterName) -> str:
        addresses = self._appliance.cluster(name).bootstrap_servers
        return f"regions.{name.region}.{name.role} ({addresses})"


def ends(routes: Iterable[Route]) -> tuple[ClusterName, ...]:
    """Returns the clusters that routes lead from and to, each once."""
    return tuple(dict.fromkeys(name for route in routes for name in _ends(route)))


def _ends(route: Route) -> tuple[ClusterName, ClusterName]:
    return ClusterName.regional(route.source), ClusterName.aggregate(route.target)


def first_clash(ids: Mapping[ClusterName, str]) -> tuple[ClusterName, ClusterName] | None:
    """Returns the first two clusters with the same id, or None.

    Regional clusters come before aggregates, then the region names decide.
    """
    pairs = combinations(sorted(ids, key=lambda name: (name.role == "aggregate", name.region)), 2)
    return next(((one, other) for one, other in pairs if ids[one] == ids[other]), None)


def harm(one: ClusterName, other: ClusterName, routes: Iterable[Route]) -> str:
    """Returns the consequence of carrying all the same, as a text for operators."""
    for route in routes:
        if set(_ends(route)) == {one, other}:
            return f"route {route} would lead onto itself"
    if one.role == other.role:
        return "its records would be mirrored more than once"
    return "records would be mirrored in a circle"

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

from replicator.config.topology import ROLES, Appliance, Route
from replicator.kafka.client.brokers import Brokers, Unreachable

LOOK_SECONDS = 60.0
ANSWER_SECONDS_MAX = 5.0
CLIENT_ID = "sluice-identity"

Place = tuple[str, str]
"""A region and a role: ("west", "regional")."""


class SameCluster(Exception):
    """Two clusters of the configuration are one. Correct the file; a restart does not help."""


class ClusterIds:
    """Cluster ids with which the configured clusters have answered. An id is asked for once."""

    def __init__(self, appliance: Appliance) -> None:
        self._appliance = appliance
        self._known: dict[Place, str] = {}

    @property
    def unknown(self) -> list[Place]:
        """Clusters that have not answered yet."""
        places = [(region, role) for region in self._appliance.regions for role in ROLES]
        return [place for place in places if place not in self._known]

    async def look_at_routes_into(self, region: str) -> None:
        """Asks the clusters of a region's routes; a cluster that does not answer is left out.

        Raises:
            SameCluster: two of the clusters that have answered so far are one.
        """
        await self._look(ends(self._appliance.routes_into(region)))

    async def keep_looking(self) -> None:
        """Asks all clusters of the configuration; those that do not answer are asked again each
        minute.

        Returns once all have answered. Raises SameCluster.
        """
        while True:
            await self.look()
            if not self.unknown:
                return
            await asyncio.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        """Asks all clusters that have not answered yet, once. Raises SameCluster."""
        await self._look(self.unknown)

    async def _look(self, places: Iterable[Place]) -> None:
        await asyncio.gather(*(self._ask(place) for place in places if place not in self._known))
        shared = self._appliance.shared_cluster_ids
        if clash := first_clash({place: i for place, i in self._known.items() if i not in shared}):
            raise SameCluster(self._worded(*clash))

    async def _ask(self, place: Place) -> None:
        region, role = place
        settings = getattr(self._appliance.region(region), role)
        brokers = Brokers(
            f"{region} {role}",
            settings,
            {"client_id": CLIENT_ID, "request_timeout_ms": int(ANSWER_SECONDS_MAX * 1000)},
        )
        # The parts of Sluice that need the cluster report why it is away or refuses us.
        with suppress(Unreachable, KafkaError, OSError, TimeoutError, ValueError):
            async with asyncio.timeout(ANSWER_SECONDS_MAX):
                await brokers.open()
        if brokers.cluster_id:
            self._known[place] = brokers.cluster_id

    def _worded(self, one: Place, other: Place) -> str:
        names = " and ".join(map(self._named, (one, other)))
        return (
            f"{names} are one cluster: both answer with cluster id {self._known[one]}, so "
            f"{harm(one, other, self._appliance.routes)}. Give each its own bootstrap; if they are "
            "separate clusters with one id (a container image's default, a copy of disks), list "
            "the id in shared_cluster_ids"
        )

    def _named(self, place: Place) -> str:
        region, role = place
        addresses = getattr(self._appliance.region(region), role).bootstrap_servers
        return f"regions.{region}.{role} ({addresses})"


def ends(routes: Iterable[Route]) -> tuple[Place, ...]:
    """Returns the clusters that routes lead from and to, each once."""
    places = [
        place
        for route in routes
        for place in ((route.source, "regional"), (route.target, "aggregate"))
    ]
    return tuple(dict.fromkeys(places))


def first_clash(ids: Mapping[Place, str]) -> tuple[Place, Place] | None:
    """Returns the first two clusters with the same id, or None.

    Regional clusters come before aggregates, then the region names decide.
    """
    pairs = combinations(sorted(ids, key=lambda place: (place[1] == "aggregate", place[0])), 2)
    return next(((one, other) for one, other in pairs if ids[one] == ids[other]), None)


def harm(one: Place, other: Place, routes: Iterable[Route]) -> str:
    """Returns the consequence of carrying all the same, as a text for operators."""
    for route in routes:
        if {(route.source, "regional"), (route.target, "aggregate")} == {one, other}:
            return f"route {route} would lead onto itself"
    if one[1] == other[1]:
        return "its records would be mirrored more than once"
    return "records would be mirrored in a circle"

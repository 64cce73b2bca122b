"""What one region copies into which Redis: its commits, runs and decisions, for all regions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from replicator.config.topology import Appliance
from replicator.copies.commit_follower import commit_follower
from replicator.copies.commit_store import CommitStore
from replicator.copies.copier import Copier, Store
from replicator.copies.log_follower import LogFollower
from replicator.copies.runs_copies import RunsCopies
from replicator.copies.runs_follower import runs_follower
from replicator.groups.primary_log import PrimaryFollower
from replicator.groups.primary_store import PrimaryCopies


class AgedStore(Store[Any], Protocol):
    """A store that knows how old it is."""

    def age(self, now_ms: int) -> int | None:
        """How many ms ago it was that all the log held at that time is in here; None: unknown."""


@dataclass(frozen=True, slots=True)
class Copy:
    """One log in one region's Redis.

    Args:
        region: in whose Redis.
        of: what it is a copy of: "commits", "runs west>east".
    """

    region: str
    of: str
    store: AgedStore
    copier: Copier[Any]


def own_copies(appliance: Appliance, region: str) -> list[Copy]:
    """All copies that a region makes of its own logs, those in one Redis next to each other.

    Each has connections of its own: a Redis that is away holds up no other.
    """
    cluster, name = appliance.region(region).aggregate, f"{region} aggregate"
    found: list[Copy] = []
    for peer in appliance.regions:
        url = appliance.region(peer).redis_url()
        told: list[tuple[str, AgedStore, LogFollower[Any]]] = [
            ("primary regions", PrimaryCopies(url, region), PrimaryFollower(name, cluster))
        ]
        if peer != region:
            told.append(("commits", CommitStore(url, region), commit_follower(name, cluster)))
            told += [
                (f"runs {it}", RunsCopies(url, it.key), runs_follower(name, cluster, it.key))
                for it in appliance.routes_into(region)
            ]
        found += [Copy(peer, of, store, Copier(follower, store)) for of, store, follower in told]
    return found

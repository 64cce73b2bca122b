"""Copies that one region makes of its commits, runs and decisions, in the Redis of all regions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Appliance
from replicator.groups.copies.commit_store import CommitStore
from replicator.groups.copies.copier import Copier, Store
from replicator.groups.copies.runs_copies import RunsCopies
from replicator.groups.copies.runs_tailer import runs_tailer
from replicator.groups.membership.primary_log import PrimaryTailer
from replicator.groups.membership.primary_store import PrimaryCopies
from replicator.kafka.tail.consumer_offsets import commit_tailer
from replicator.kafka.tail.topic_tailer import TopicTailer


class AgedStore(Store[Any], Protocol):
    """Store that knows how old its copy is."""

    def age(self, now_ms: int) -> int | None:
        """Returns how many ms ago the copy had all that the log held then; None: unknown."""


@dataclass(frozen=True, slots=True)
class Copy:
    """Copy of one log in one region's Redis.

    Args:
        region: the region of the Redis.
        of: what it is a copy of: "commits", "runs west>east".
    """

    region: str
    of: str
    store: AgedStore
    copier: Copier[Any]


def own_copies(appliance: Appliance, region: str) -> list[Copy]:
    """Returns all copies that a region makes of its own logs; those in one Redis are adjacent.

    Each copy has connections of its own, so a Redis that is away holds up no other.
    """
    cluster, name = appliance.region(region).aggregate, ClusterName.aggregate(region)
    found: list[Copy] = []
    for peer in appliance.regions:
        url = appliance.region(peer).redis_url()
        copies: list[tuple[str, AgedStore, TopicTailer[Any]]] = [
            ("primary regions", PrimaryCopies(url, region), PrimaryTailer(name, cluster))
        ]
        if peer != region:
            copies.append(("commits", CommitStore(url, region), commit_tailer(name, cluster)))
            copies += [
                (f"runs {it}", RunsCopies(url, it.key), runs_tailer(name, cluster, it.key))
                for it in appliance.routes_into(region)
            ]
        found += [Copy(peer, of, store, Copier(tailer, store)) for of, store, tailer in copies]
    return found

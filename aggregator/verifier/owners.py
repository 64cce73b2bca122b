"""Owners of committed entries: the feeds and routes whose groups are in a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from aggregator.intents import intent_store
from aggregator.verifier.entry_rules import EntryRules
from aggregator.verifier.intent_rules import IntentRules
from aggregator.verifier.ledger_rules import LedgerRules
from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Appliance
from replicator.mirror.ledger import ledger


class NothingJudged(Exception):
    """A region has neither feeds nor routes into it. Name another region."""


class Owner(NamedTuple):
    """Feed or route: its name for people, and the rules of its entries."""

    name: str
    rules: EntryRules[Any]


class Subject(NamedTuple):
    """Partition with a committed entry.

    Args:
        owner: name of the feed or route: "feed flights", "route west>east".
    """

    cluster: ClusterName
    owner: str
    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.owner} {self.topic}-{self.partition} in {self.cluster}"


Owners = Mapping[str, Owner]
"""Owners by group."""


def owners_of(appliance: Appliance, region: str) -> dict[ClusterName, Owners]:
    """Returns, by cluster, the groups that a region's verifier judges.

    These are the intents of the region's feeds, each in the cluster that it reads, and the ledger
    in the region's aggregate. Raises UnknownRegion.
    """
    found: dict[ClusterName, dict[str, Owner]] = {}
    routes = appliance.routes_into(region)
    for route in routes:
        owner = Owner(f"route {route.name}", LedgerRules())
        groups = found.setdefault(ClusterName.aggregate(region), {})
        groups.update(dict.fromkeys(ledger.groups_of(route), owner))
    for feed in appliance.feeds_of(region):
        owner = Owner(f"feed {feed.name}", IntentRules())
        for cluster in feed.clusters:
            groups = found.setdefault(cluster, {})
            groups.update(dict.fromkeys(intent_store.groups_of(feed.name), owner))
    return dict(sorted(found.items()))


def judged_clusters(appliance: Appliance, region: str) -> dict[ClusterName, Owners]:
    """Returns the same as `owners_of`. Raises NothingJudged if there is nothing, UnknownRegion."""
    found = owners_of(appliance, region)
    if not found:
        raise NothingJudged(f"region {region}: no feeds and no routes into it, so nothing to judge")
    return found

"""Owners of committed entries: feeds, routes and upsert tables whose groups are in a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from aggregator.intents import intent_store
from aggregator.upsert.tick_codec import PARTS_MAX
from aggregator.verifier.entry_parts import PartGroup
from aggregator.verifier.entry_rules import EntryRules
from aggregator.verifier.intent_rules import IntentRules
from aggregator.verifier.ledger_rules import LedgerRules
from aggregator.verifier.tick_rules import TickRules, sign
from replicator.config.cluster_name import ClusterName
from replicator.config.feed_settings import ClickHouseFeed
from replicator.config.names import OWN_PREFIX, PLAN_TOPIC, upsert_group, upsert_id
from replicator.config.topology import Appliance
from replicator.kafka.protocol.commit_record import Committed
from replicator.mirror.ledger import ledger


class NothingJudged(Exception):
    """A region has neither feeds nor routes into it. Name another region."""


class Owner(NamedTuple):
    """Feed, route or upsert table: its name for people, and the rules of its entries.

    Args:
        part: place of a group that holds a part of each entry; None if it holds whole ones.
    """

    name: str
    rules: EntryRules[Any]
    part: PartGroup | None = None

    def has(self, committed: Committed) -> bool:
        """Returns True for an offset of its groups that is an entry, or a part of one."""
        if self.part is not None:
            return (committed.topic, committed.partition) == (self.part.topic, 0)
        return not committed.topic.startswith(OWN_PREFIX)

    @property
    def is_first_part(self) -> bool:
        """True for a group whose last record is the entry's place."""
        return self.part is None or self.part.number == 0


class Subject(NamedTuple):
    """Partition with a committed entry.

    Args:
        owner: name of the feed, route or upsert table: "feed flights", "route west>east", "table
            flights.flight_status".
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

    These are the intents of the region's feeds, each in the cluster that it reads, the ticks of
    their upsert tables, each in the table's home, and the ledger in the region's aggregate. Raises
    UnknownRegion.
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
        if isinstance(feed, ClickHouseFeed):
            for table in feed.upsert_tables:
                found.setdefault(feed.home_of(table), {}).update(_ticks(feed.name, table.name))
    return dict(sorted(found.items()))


def _ticks(feed: str, table: str) -> Owners:
    """Returns the groups of an upsert table, one for each part that a tick can have."""
    owner = Owner(f"table {feed}.{table}", TickRules(upsert_id(feed, table)))
    first = upsert_group(feed, table, 0)
    return {
        upsert_group(feed, table, number): owner._replace(
            part=PartGroup(number, first, PLAN_TOPIC, sign)
        )
        for number in range(PARTS_MAX)
    }


def judged_clusters(appliance: Appliance, region: str) -> dict[ClusterName, Owners]:
    """Returns the same as `owners_of`. Raises NothingJudged if there is nothing, UnknownRegion."""
    found = owners_of(appliance, region)
    if not found:
        raise NothingJudged(f"region {region}: no feeds and no routes into it, so nothing to judge")
    return found

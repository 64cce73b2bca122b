"""Posting of a region's feeds: the input of the next epoch, left by the driver.

A small file that is replaced as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from balancer.carrier_plan import CarrierId, Plan, carriers_by_task
from replicator.config.cluster_name import ClusterName
from replicator.runtime.private_files import write_private

# Workers import what they use (feed_source.py).
if TYPE_CHECKING:
    from replicator.orders.feed_orders import FeedOrders
    from replicator.spark.driver_command import Term


class FeedCluster(NamedTuple):
    """A feed, and one of the clusters that it reads: what is planned together."""

    feed: str
    cluster: ClusterName

    @property
    def key(self) -> str:
        """Key in plans, in the place of a route."""
        return f"{self.feed}/{self.cluster}"

    @classmethod
    def parse(cls, key: str) -> FeedCluster:
        feed, _, cluster = key.partition("/")
        return cls(feed, ClusterName(cluster))


@dataclass(frozen=True, slots=True)
class FeedPosting:
    """Input of the next epoch.

    Args:
        plan: partitions of every loader; routes are keys of feeds and clusters.
        slots: Spark tasks that can run at once.
        terms: of the driver, by cluster; a cluster without one has no loaders.
        orders: by feed.
        stop: no further epoch begins.
        unconditional: those whose store does not keep names that are taken.
    """

    plan: Plan
    slots: int
    terms: Mapping[ClusterName, Term]
    orders: Mapping[str, FeedOrders]
    stop: bool = False
    unconditional: frozenset[FeedCluster] = frozenset()

    def loaders_by_task(self) -> tuple[tuple[CarrierId, ...], ...]:
        """Returns the loaders that share each Spark task."""
        return carriers_by_task(self.plan, self.slots)

    def to_json(self) -> str:
        return json.dumps(
            {
                "plan": self.plan.to_json(),
                "slots": self.slots,
                "terms": {str(name): [*_pair(term)] for name, term in self.terms.items()},
                "orders": {feed: each.model_dump_json() for feed, each in self.orders.items()},
                "stop": self.stop,
                "unconditional": sorted(each.key for each in self.unconditional),
            }
        )

    @staticmethod
    def from_json(text: str) -> FeedPosting:
        from replicator.orders.feed_orders import FeedOrders
        from replicator.spark.driver_command import Term

        found = json.loads(text)
        return FeedPosting(
            Plan.from_json(found["plan"]),
            found["slots"],
            {ClusterName(name): Term(*term) for name, term in found["terms"].items()},
            {feed: FeedOrders.model_validate_json(each) for feed, each in found["orders"].items()},
            found["stop"],
            frozenset(map(FeedCluster.parse, found["unconditional"])),
        )


@dataclass(frozen=True, slots=True)
class FeedPostingFile:
    """File of the posting. A reader sees the old posting or the new one, whole."""

    path: Path

    def write(self, posting: FeedPosting) -> None:
        write_private(self.path, posting.to_json().encode())

    def read(self) -> FeedPosting | None:
        """Returns the posting; None before the first one."""
        try:
            return FeedPosting.from_json(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None


def _pair(term: Term) -> tuple[int, int]:
    return term.producer_id, term.epoch

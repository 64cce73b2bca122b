"""Claimant of a prefix: a daemon whose feed begins once the product admits it.

Each has another feed, with a prefix of its own, which nothing but its store may keep waiting.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from aggregator.driver.feed_posting import FeedCluster
from aggregator.driver.store_admission import StoreAdmission
from aggregator.objects.prefix_claim import PrefixClaim
from aggregator.s3.object_store import ObjectStore
from replicator.config.object_feed import ObjectFeed
from replicator.notices.condition import Kind
from replicator.notices.conditions import Conditions
from tests.world.process import Process
from tests.world.sinks.loaded_feed import CLUSTER

PAUSE_SECONDS_MAX = 3.0


@dataclass(frozen=True, slots=True)
class AdmissionParts:
    """Classes of the product that claimants use; a mutation replaces one."""

    store: type[ObjectStore] = ObjectStore
    admission: type[StoreAdmission] = StoreAdmission


PRODUCT = AdmissionParts()
MakeAdmission = Callable[[list[ObjectFeed], Conditions, Callable[[], None]], StoreAdmission]
"""Makes the admission of some feeds, with what it calls for each that may begin."""


def owner_of(claim: PrefixClaim) -> tuple[str, str]:
    """Returns feed and cluster id of a claim. Not `is_same`: a mutation replaces it."""
    return claim.feed, claim.cluster_id


class Claimant:
    """Claimant, started again and again.

    Args:
        claim: what it writes where there is none.
        feeds: the one with the prefix that others want too, and the one with its own.
        make_admission: makes the admission of a daemon that starts.
        cluster_id: asks Kafka; may raise AdminError.
        admitted: called whenever one of its feeds may begin.
        failed: called with an error that ends the daemon.
    """

    def __init__(
        self,
        name: str,
        claim: PrefixClaim,
        feeds: tuple[ObjectFeed, ObjectFeed],
        make_admission: Callable[
            [list[ObjectFeed], Conditions, Callable[[], None]], StoreAdmission
        ],
        cluster_id: Callable[[], Awaitable[str]],
        admitted: Callable[[Claimant], None],
        failed: Callable[[Exception], None],
    ) -> None:
        self.name, self.claim = name, claim
        self.process: Process | None = None
        self.shared, self.own = (FeedCluster(feed.name, CLUSTER) for feed in feeds)
        self.conditions = Conditions(name)
        self._feeds, self._make_admission = feeds, make_admission
        self._cluster_id, self._admitted, self._failed = cluster_id, admitted, failed
        self._admission: StoreAdmission | None = None

    def start(self) -> None:
        """Starts it; does nothing where it runs."""
        if self.is_running:
            return
        self.conditions = Conditions(self.name)
        self._admission = self._make_admission(
            [*self._feeds], self.conditions, lambda: self._admitted(self)
        )
        self.process = Process(self.name).start(self._admit(self._admission))

    def kill(self) -> None:
        """Kills it; does nothing where it does not run."""
        if self.process:
            self.process.kill()
        self.process = self._admission = None

    @property
    def owner(self) -> tuple[str, str]:
        """Feed and cluster that it wants the prefix for."""
        return owner_of(self.claim)

    @property
    def is_running(self) -> bool:
        """True until it is killed: also while it is stopped."""
        return self.process is not None

    @property
    def has_begun(self) -> bool:
        """True once the daemon may plan the feed whose prefix others want."""
        return self.begun(self.shared)

    @property
    def is_trying(self) -> bool:
        """True until the daemon has heard of all its stores."""
        return self._admission is not None and self._admission.is_trying

    def begun(self, feed: FeedCluster) -> bool:
        """Returns True once the daemon may plan a feed."""
        return self._admission is not None and self._admission.has(feed)

    def is_unconditional(self, feed: FeedCluster) -> bool:
        """Returns True if loaders of a feed are told that the store keeps no names."""
        return self._admission is not None and feed in self._admission.unconditional

    def told(self, kind: Kind, feed: FeedCluster) -> str:
        """Returns what operators are told of a feed; empty: nothing."""
        found = self.conditions.current
        return "; ".join(it.text for it in found if it.kind == kind and it.feed == feed.feed)

    async def _admit(self, admission: StoreAdmission) -> None:
        try:
            await admission.admit_all(CLUSTER, self._cluster_id)
        except Exception as error:
            self._failed(error)

"""Claimant of a prefix: a daemon with one feed, which begins once the product admits it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
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
CLUSTER_ID_SECONDS = 0.01
"""Time that Kafka takes to tell the id of its cluster."""


@dataclass(frozen=True, slots=True)
class Claimants:
    """Way in which claimants are made; a mutation has another one."""

    store: type[ObjectStore] = ObjectStore
    admission: type[StoreAdmission] = StoreAdmission


PRODUCT = Claimants()


def owner_of(claim: PrefixClaim) -> tuple[str, str]:
    """Returns feed and cluster id of a claim; mutations have another way to compare claims."""
    return claim.feed, claim.cluster_id


class Claimant:
    """Claimant, started again and again.

    Args:
        claim: what it writes where there is none.
        make_store: makes the store of its trials.
        admitted: called whenever it is admitted.
        failed: called with an error that ends the daemon.
    """

    def __init__(
        self,
        name: str,
        feed: ObjectFeed,
        claim: PrefixClaim,
        claimants: Claimants,
        make_store: Callable[[ObjectFeed], ObjectStore],
        admitted: Callable[[Claimant], None],
        failed: Callable[[Exception], None],
    ) -> None:
        self.name, self.claim = name, claim
        self.process: Process | None = None
        self._feed, self._claimants = feed, claimants
        self._make_store, self._noted, self._failed = make_store, admitted, failed
        self._admission: StoreAdmission | None = None
        self._conditions = Conditions(name)

    def start(self) -> None:
        """Starts it; does nothing where it runs."""
        if self.is_running:
            return
        self._conditions = Conditions(self.name)
        self._admission = self._claimants.admission(
            [self._feed],
            self._conditions,
            lambda: self._noted(self),
            PAUSE_SECONDS_MAX,
            self._make_store,
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
        """True once the daemon may plan its feed."""
        return self._admission is not None and self._admission.has(
            FeedCluster(self._feed.name, CLUSTER)
        )

    @property
    def is_unconditional(self) -> bool:
        """True if it takes the store for one that does not keep names that are taken."""
        return self._admission is not None and bool(self._admission.unconditional)

    @property
    def refusal(self) -> str:
        """Reason why it may not begin, as operators see it; empty: there is none now."""
        found = (it.text for it in self._conditions.current if it.kind == Kind.FEED_REFUSED)
        return "; ".join(found)

    async def _admit(self, admission: StoreAdmission) -> None:
        try:
            await admission.admit_all(CLUSTER, self._cluster_id)
        except Exception as error:
            self._failed(error)

    async def _cluster_id(self) -> str:
        await asyncio.sleep(CLUSTER_ID_SECONDS)
        return self.claim.cluster_id

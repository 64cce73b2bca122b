"""Store admission: the feeds into objects that may begin, once their store was tried and their
prefix is claimed. A feed that may not leaves the others flowing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from aggregator.driver.feed_posting import FeedCluster
from aggregator.loader.object_sink import trial_store
from aggregator.objects.prefix_claim import PrefixClaim
from aggregator.s3.answers import StoreProblem
from aggregator.s3.object_store import ObjectStore
from aggregator.s3.store_trial import Condition, StoreRefusal, renew_claim, tried
from replicator.config.cluster_name import ClusterName
from replicator.config.feed_settings import Feed
from replicator.config.object_feed import ObjectFeed
from replicator.kafka.admin.admin_error import AdminError
from replicator.notices.condition import Kind, Subject
from replicator.notices.conditions import Conditions
from replicator.runtime.backoff import Backoff
from replicator.runtime.gather import gather_or_cancel
from replicator.runtime.report_once import ReportOnce
from replicator.runtime.run_in_thread import run_in_thread

log = logging.getLogger(__name__)

PAUSE_SECONDS = 1.0
RENEW_SECONDS = 60.0, 6 * 3600.0
"""Lifecycle rules, which end claims that are not written again, count in days."""


class StoreAdmission:
    """Admission of a region's feeds. Feeds into tables need none.

    Args:
        admitted: called when another feed may begin.
        pause_seconds_max: longest pause before a store is tried again.
        make_store: makes the store of a feed's trial.
        try_store: tries a store, and claims a prefix of it.
        renew: renews the claim of a prefix.
        renew_seconds: time after which a claim is written again: first, and from then on.
    """

    def __init__(
        self,
        feeds: Sequence[Feed],
        conditions: Conditions,
        admitted: Callable[[], None],
        pause_seconds_max: float,
        make_store: Callable[[ObjectFeed], ObjectStore] = trial_store,
        try_store: Callable[..., Condition | None] = tried,
        renew: Callable[..., None] = renew_claim,
        renew_seconds: tuple[float, float] = RENEW_SECONDS,
    ) -> None:
        self.unconditional: frozenset[FeedCluster] = frozenset()
        """Feeds whose store does not keep names that are taken."""
        self._feeds = {feed.name: feed for feed in feeds if isinstance(feed, ObjectFeed)}
        self._conditions = conditions
        self._admitted = admitted
        self._make_store = make_store
        self._try_store = try_store
        self._renew_claim = renew
        self._renew_seconds = renew_seconds
        self._pauses = min(PAUSE_SECONDS, pause_seconds_max), pause_seconds_max
        self._untried = {
            FeedCluster(feed.name, name) for feed in self._feeds.values() for name in feed.clusters
        }
        self._waiting = set(self._untried)
        self._refusals: dict[Subject, str] = {}
        self._warnings: dict[Subject, str] = {}
        self._reports = ReportOnce()
        if not self._waiting:
            # A daemon before this one may have had such feeds.
            for kind in (Kind.FEED_REFUSED, Kind.STORE_UNCONDITIONAL):
                conditions.replace(kind, {})

    @property
    def is_trying(self) -> bool:
        """True until each store has answered once, or has failed to."""
        return bool(self._untried)

    def has(self, each: FeedCluster) -> bool:
        """Returns True if a feed may read a cluster."""
        return each not in self._waiting

    async def admit_all(
        self, cluster: ClusterName, cluster_id: Callable[[], Awaitable[str]]
    ) -> None:
        """Tries the stores of all feeds that read a cluster, until all are admitted."""
        asked = [each for each in self._waiting if each.cluster == cluster]
        await gather_or_cancel(*(self._admit(each, cluster_id) for each in asked))

    async def keep_claims(
        self, cluster: ClusterName, cluster_id: Callable[[], Awaitable[str]]
    ) -> None:
        """Renews the claims of admitted feeds that read a cluster, until cancelled. A feed whose
        prefix is another's by now is refused, and admitted again once it is its own."""
        own = [feed.name for feed in self._feeds.values() if cluster in feed.clusters]
        # Each by itself: one that is refused may wait for days until its prefix is its own.
        await gather_or_cancel(
            *(self._keep_claim(FeedCluster(name, cluster), cluster_id) for name in own)
        )

    async def _keep_claim(
        self, each: FeedCluster, cluster_id: Callable[[], Awaitable[str]]
    ) -> None:
        pause, later = self._renew_seconds
        while True:
            await asyncio.sleep(pause)
            pause = later
            if self.has(each):
                await self._renew(each, cluster_id)

    async def _renew(self, each: FeedCluster, cluster_id: Callable[[], Awaitable[str]]) -> None:
        feed = self._feeds[each.feed]
        try:
            claim = PrefixClaim(each.feed, str(each.cluster), await cluster_id())
            prefix = feed.prefix_of(each.cluster)
            await run_in_thread(partial(self._renew_claim, self._make_store(feed), prefix, claim))
        except StoreRefusal as refusal:
            self._waiting.add(each)
            self._refuse(each, refusal)
            self._admitted()
            await self._admit(each, cluster_id)
        except (StoreProblem, AdminError) as error:
            log.warning("event=claim-not-renewed %s: %s", _fields(each), error)

    async def _admit(self, each: FeedCluster, cluster_id: Callable[[], Awaitable[str]]) -> None:
        feed, backoff = self._feeds[each.feed], Backoff(*self._pauses)
        while True:
            try:
                claim = PrefixClaim(each.feed, str(each.cluster), await cluster_id())
                trial = partial(
                    self._try_store,
                    self._make_store(feed),
                    feed.prefix_of(each.cluster),
                    claim,
                    is_claiming=True,
                )
                condition = await run_in_thread(trial)
                break
            except (StoreRefusal, StoreProblem, AdminError) as error:
                self._refuse(each, error)
            self._untried.discard(each)
            await asyncio.sleep(backoff.jittered(0.8, 1.2))
            backoff.grow()
        self._admit_with(each, condition)

    def _refuse(self, each: FeedCluster, error: Exception) -> None:
        self._refusals[_subject(each)] = str(error)
        self._conditions.replace(Kind.FEED_REFUSED, self._refusals)
        if self._reports.is_news(each, str(error)):
            log.error("event=feed-refused %s: %s", _fields(each), error)

    def _admit_with(self, each: FeedCluster, condition: Condition | None) -> None:
        self._waiting.discard(each)
        self._untried.discard(each)
        self._refusals.pop(_subject(each), None)
        self._conditions.replace(Kind.FEED_REFUSED, self._refusals)
        if condition is not Condition.HONOURED:
            assert condition is not None, "a prefix that is claimed is tried"
            self.unconditional |= {each}
            self._warnings[_subject(each)] = condition.value
            log.warning("event=store-unconditional %s: %s", _fields(each), condition.value)
        self._conditions.replace(Kind.STORE_UNCONDITIONAL, self._warnings)
        log.info("event=feed-admitted %s", _fields(each))
        self._admitted()


def _subject(each: FeedCluster) -> Subject:
    return Subject(feed=each.feed, cluster=str(each.cluster))


def _fields(each: FeedCluster) -> str:
    return f"feed={each.feed} cluster={each.cluster.replace(' ', '-')}"

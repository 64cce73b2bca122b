"""Scene of daemons that want the same prefix of a store."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from aggregator.driver.store_admission import StoreAdmission
from aggregator.loader.object_sink import address_of
from aggregator.objects.prefix_claim import CLAIM, PrefixClaim, below
from aggregator.s3 import store_trial
from aggregator.s3.object_store import ObjectStore
from replicator.config.object_feed import ObjectFeed
from replicator.kafka.admin.admin_error import AdminError
from replicator.notices.condition import Kind
from replicator.notices.conditions import Conditions
from tests.world.checks.wrong import Wrong
from tests.world.claims.claimant import PAUSE_SECONDS_MAX, AdmissionParts, Claimant, owner_of
from tests.world.objects.client import WorldS3
from tests.world.objects.object_feeding import PREFIX
from tests.world.objects.server import COMPLETE, PUT, URL, Condition, ObjectServer, StoreKind
from tests.world.sinks.loaded_feed import CLUSTER, FEED, appliance_of
from tests.world.sinks.sink_loop import SinkLoop

KEY = below(PREFIX, CLAIM)
STORE_KINDS = (
    StoreKind(),
    StoreKind(),
    StoreKind(shown_seconds=1.0),
    StoreKind(Condition.LOOKED_AT),
    StoreKind(Condition.IGNORED),
    StoreKind(Condition.REFUSED),
    StoreKind(of_completions=Condition.IGNORED),
    StoreKind(of_completions=Condition.REFUSED),
)
CLAIMS = (
    PrefixClaim(FEED, CLUSTER, "one"),
    PrefixClaim(FEED, CLUSTER, "one"),
    PrefixClaim(FEED, CLUSTER, "two"),
    PrefixClaim("pond", CLUSTER, "one"),
)
"""Claims of the daemons: the first two are an active one and its successor."""
CLUSTER_ID_SECONDS = 0.01
"""Time that Kafka takes to tell the id of its cluster."""
SILENT_SHARE = 0.1
"""Share of the questions for the id that Kafka does not answer."""


@dataclass(frozen=True, slots=True)
class ClaimCourse:
    """Course of a history.

    Args:
        seconds: virtual time with faults.
        fault_seconds: mean time between two faults.
    """

    seconds: float = 120.0
    fault_seconds: float = 1.5


class ClaimLoop(SinkLoop):
    """Loop of a world in which trials of stores take time."""

    waiting = frozenset(["tried"])


class ClaimScene:
    """Scene of one seed."""

    def __init__(
        self, loop: ClaimLoop, seed: int, course: ClaimCourse, parts: AdmissionParts
    ) -> None:
        self.loop, self.seed, self.course, self.parts = loop, seed, course, parts
        self.dice = random.Random(seed)
        self.log: list[str] = []
        self.kind = self.dice.choice(STORE_KINDS)
        self.server = ObjectServer(loop, random.Random(f"{seed} store"), self.kind)
        self.is_mended = False
        self.admissions = 0
        self.claimants = [
            Claimant(
                f"daemon {number} of {claim.feed} in {claim.cluster_id}",
                claim,
                (_feed(claim.feed, PREFIX), _feed(f"own-{number}", f"own/{number}")),
                self._admission,
                partial(self._cluster_id, claim),
                self._admitted,
                loop.fail,
            )
            for number, claim in enumerate(CLAIMS)
        ]
        self.tell(f"store: {self.kind}")

    def tell(self, text: str) -> None:
        """Adds a line to the log of the history."""
        self.log.append(f"{self.loop.time():10.4f} {text}")

    def claim(self) -> PrefixClaim | None:
        """Returns the claim that the store has."""
        found = self.server.objects.get(KEY)
        return PrefixClaim.decode(found.data) if found else None

    @property
    def keeps_claims(self) -> bool:
        """True if of two that claim at the same moment one wins; other stores let both win
        (docs/s3.md)."""
        ways = {self.kind.condition_of(PUT), self.kind.condition_of(COMPLETE)}
        return ways == {Condition.KEPT}

    @property
    def expected(self) -> store_trial.Condition:
        """Way with conditions that a trial has to find: the worse one of both operations."""
        ways = {self.kind.condition_of(PUT), self.kind.condition_of(COMPLETE)}
        if Condition.IGNORED in ways:
            return store_trial.Condition.IGNORED
        if Condition.REFUSED in ways:
            return store_trial.Condition.REFUSED
        return store_trial.Condition.HONOURED

    def check(self) -> None:
        """Raises Wrong if a daemon has begun without the claim, where the store keeps claims."""
        claim = self.claim()
        for who in self.claimants:
            is_owner = claim is not None and owner_of(claim) == who.owner
            if who.has_begun and self.keeps_claims and not is_owner:
                raise Wrong(f"{who.name} has begun, and the claim is {claim} (50)")

    def _admission(
        self, feeds: list[ObjectFeed], conditions: Conditions, admitted: Callable[[], None]
    ) -> StoreAdmission:
        return self.parts.admission(feeds, conditions, admitted, PAUSE_SECONDS_MAX, self._store)

    def _store(self, feed: ObjectFeed) -> ObjectStore:
        return self.parts.store(address_of(feed), lambda _: WorldS3(self.server))

    async def _cluster_id(self, claim: PrefixClaim) -> str:
        await asyncio.sleep(CLUSTER_ID_SECONDS)
        if not self.is_mended and self.dice.random() < SILENT_SHARE:
            raise AdminError(claim.cluster, "no broker answers")
        return claim.cluster_id

    def _admitted(self, who: Claimant) -> None:
        self.admissions += 1
        try:
            self.check()
            self._check_told(who)
        except Wrong as wrong:
            self.loop.fail(wrong)

    def _check_told(self, who: Claimant) -> None:
        """Raises Wrong if loaders or operators are told another way of the store than it has."""
        expected = self.expected
        is_unconditional = expected is not store_trial.Condition.HONOURED
        for feed in filter(who.begun, (who.shared, who.own)):
            told = who.told(Kind.STORE_UNCONDITIONAL, feed)
            self.tell(f"{who.name} begins {feed.feed}: {told or 'names are kept'}")
            if who.is_unconditional(feed) != is_unconditional:
                raise Wrong(f"{who.name} finds {told or 'names kept'}: {self.kind} (50)")
            if told != (expected.value if is_unconditional else ""):
                raise Wrong(f"{who.name} tells {told!r}: {self.kind} (50)")
            if refused := who.told(Kind.FEED_REFUSED, feed):
                raise Wrong(f"{who.name} has begun {feed.feed}, and tells {refused!r} (50)")


def _feed(name: str, prefix: str) -> ObjectFeed:
    settings = {"kind": "s3", "topics": ["orders"], "bucket": "bucket", "endpoint": URL}
    feed = appliance_of(["aggregate:9092"], {**settings, "prefix": prefix}).feed(FEED)
    assert isinstance(feed, ObjectFeed)
    return feed.model_copy(update={"name": name})

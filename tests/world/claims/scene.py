"""Scene of daemons that want the same prefix of a store."""

from __future__ import annotations

import random
from dataclasses import dataclass

from aggregator.loader.object_sink import address_of
from aggregator.objects.prefix_claim import CLAIM, PrefixClaim, below
from aggregator.s3.object_store import ObjectStore
from replicator.config.object_feed import ObjectFeed
from tests.world.checks.wrong import Wrong
from tests.world.claims.claimant import Claimant, Claimants
from tests.world.objects.client import WorldS3
from tests.world.objects.object_feeding import PREFIX
from tests.world.objects.server import URL, Condition, ObjectServer, StoreKind
from tests.world.sinks.loaded_feed import CLUSTER, FEED, appliance_of
from tests.world.sinks.sink_loop import SinkLoop

KEY = below(PREFIX, CLAIM)
KINDS = (
    StoreKind(),
    StoreKind(),
    StoreKind(shown_seconds=1.0),
    StoreKind(Condition.LOOKED_AT),
    StoreKind(Condition.IGNORED),
    StoreKind(Condition.IGNORED),
    StoreKind(Condition.REFUSED),
)
CLAIMS = (
    PrefixClaim(FEED, CLUSTER, "one"),
    PrefixClaim(FEED, CLUSTER, "one"),
    PrefixClaim(FEED, CLUSTER, "two"),
    PrefixClaim("pond", CLUSTER, "one"),
)
"""Claims of the daemons: the first two are an active one and its successor."""


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
        self, loop: ClaimLoop, seed: int, course: ClaimCourse, claimants: Claimants
    ) -> None:
        self.loop, self.seed, self.course = loop, seed, course
        self.dice = random.Random(seed)
        self.log: list[str] = []
        self.kind = self.dice.choice(KINDS)
        self.server = ObjectServer(loop, random.Random(f"{seed} store"), self.kind)
        self.is_mended = False
        self.admissions = 0
        self._claimants = claimants
        self.claimants = [
            Claimant(
                f"daemon {number} of {claim.feed} in {claim.cluster_id}",
                self._feed(claim.feed),
                claim,
                claimants,
                self._store,
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

    def check(self) -> None:
        """Raises Wrong if daemons have begun that must not write beside each other."""
        begun = [it for it in self.claimants if it.has_begun]
        owners = {it.owner for it in begun}
        # Other stores let both win of two that claim at the same moment (docs/s3.md).
        if len(owners) > 1 and self.kind.condition is Condition.KEPT:
            raise Wrong(f"{' and '.join(it.name for it in begun)} write below one prefix (50)")

    def _feed(self, name: str) -> ObjectFeed:
        settings = {"kind": "s3", "topics": ["orders"], "bucket": "bucket", "endpoint": URL}
        feed = appliance_of(["aggregate:9092"], {**settings, "prefix": PREFIX}).feed(FEED)
        assert isinstance(feed, ObjectFeed)
        return feed.model_copy(update={"name": name})

    def _store(self, feed: ObjectFeed) -> ObjectStore:
        return self._claimants.store(address_of(feed), lambda _: WorldS3(self.server))

    def _admitted(self, who: Claimant) -> None:
        self.admissions += 1
        ignores = self.kind.condition in (Condition.IGNORED, Condition.REFUSED)
        self.tell(f"{who.name} begins")
        if who.is_unconditional != ignores:
            how = "ignore" if who.is_unconditional else "keep"
            self.loop.fail(Wrong(f"{who.name} takes a store to {how} conditions: {self.kind} (50)"))

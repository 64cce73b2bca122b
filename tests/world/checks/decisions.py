"""Decisions about primary regions, and what plan writers and offset syncs may write beside them.

- A plan is applied only with knowledge, and only if no other plan has moved the group since.
- Offsets are those that were confirmed, written once the plan's decision is in the region's log,
  and only while Redis shows that decision.
- Beside a commit with an application's metadata its vector was written before.
- An offset sync writes where Redis shows that the group lives elsewhere, and only if Redis has the
  decisions of its own region. Where the group's own region answers, nothing unread is passed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from fakeredis import FakeRedis

from balancer.topic_partition import TopicPartition
from replicator.config.names import PRIMARY_REGIONS_TOPIC, vectors_group
from replicator.groups.failover.outcome import MoveState, Outcome, is_of, planned
from replicator.groups.membership.primary_region import PrimaryRegion, decode, joined, newer
from replicator.groups.membership.primary_store import KEY
from replicator.groups.offset_sync.sync import DECISIONS_AGE_MS_MAX
from replicator.groups.planning.failover_plan import Plan
from replicator.groups.progress.vector_metadata import is_foreign
from tests.replicator.batches.source_batches import decoded
from tests.world.checks.log_reading import LogReading
from tests.world.checks.plans import Truth
from tests.world.checks.wrong import Wrong
from tests.world.kafka.kafka_cluster import KafkaCluster
from tests.world.kafka.partition import Observer, Partition
from tests.world.redis_server import RedisServer

Offsets = Mapping[TopicPartition, tuple[int, str]]
VECTORS = vectors_group("")
LOOK_SECONDS = 1.0
"""Time by which a copier may date its look at the log too late."""


class DecisionView(Observer):
    """View of one region's decisions: in its log since when, and in its Redis now."""

    def __init__(self, region: str, cluster: KafkaCluster, redis: RedisServer) -> None:
        self.region, self._redis = region, redis
        self.now = cluster.network.loop.time
        (partition,) = cluster.topics[PRIMARY_REGIONS_TOPIC].partitions
        self._reading = LogReading(partition)
        self._made: list[tuple[float, PrimaryRegion]] = []
        partition.observers.append(self)

    def advanced(self, partition: Partition) -> None:
        for batch in self._reading.batches():
            for record in decoded(batch.data):
                self._made.append((self.now(), decode(record.value or b"")))

    def logged(self, group: str, before: float) -> PrimaryRegion | None:
        """Returns the decision that counts of those that the log had before a time."""
        return joined(it for at, it in self._made if at <= before).get(group)

    def of_plan(self, group: str, plan: Plan) -> PrimaryRegion | None:
        """Returns the decision of a plan, if the log has it."""
        own = (it for _, it in self._made if it.group == group and is_of(it, plan))
        return joined(own).get(group)

    def shown(self, group: str) -> PrimaryRegion | None:
        """Returns the decision that Redis has; no time passes by looking."""
        text = FakeRedis(server=self._redis.store, protocol=2).hget(KEY, group)
        return decode(text) if text else None  # type: ignore[arg-type]


@dataclass(slots=True)
class Beside:
    """Vectors that one writer has sent beside commits, by the group that keeps them."""

    _sent: dict[tuple[str, TopicPartition], int] = field(default_factory=dict)

    def note(self, group: str, vectors: Offsets) -> None:
        self._sent |= {(group, place): offset for place, (offset, _) in vectors.items()}

    def missing(self, group: str, offsets: Offsets) -> list[TopicPartition]:
        """Returns where an application's metadata are to be written without a vector before."""
        return [
            place
            for place, (offset, metadata) in offsets.items()
            if is_foreign(metadata) and self._sent.get((vectors_group(group), place)) != offset
        ]


@dataclass(slots=True)
class PlanWatch:
    """Watch over one attempt to apply a plan in its target region."""

    plan: Plan
    view: DecisionView
    unread: Callable[[TopicPartition, tuple[int, str]], list[bytes]]
    """Returns what a position in the target claims and its group has not read."""
    rewound_at: float
    """Time since which the group's rewind is committed."""
    begun_at: float = field(init=False)
    _shown: dict[str, PrimaryRegion | None] = field(default_factory=dict)
    _known_at: float = 0.0
    _beside: Beside = field(default_factory=Beside)

    def __post_init__(self) -> None:
        self.begun_at = self.view.now()

    def begun(self) -> set[str]:
        """Returns the groups whose decision was this plan's when the attempt began, and still is:
        a plan that another one has overtaken may stop."""
        times = self.begun_at, self.view.now()
        return {
            each.group
            for each in self.plan.groups
            if all(is_of(self.view.logged(each.group, at), self.plan) for at in times)
        }

    def planned(self, fresh: Plan, asked_at: float) -> None:
        """Notes a fresh plan: everything older than its copies was known then."""
        self._known_at = asked_at - (fresh.age_ms or 0) / 1000

    def recording(self, records: list[PrimaryRegion]) -> None:
        """Raises Wrong for decisions that this plan must not make."""
        about = f"plan {self.plan.id} is applied in {self.view.region}"
        if self.plan.age_ms is None or self.plan.blocks:
            raise Wrong(f"{about}, which is blocked: {self.plan.blocks}")
        known = {each.group: each.generation for each in self.plan.groups}
        for record in records:
            before = self.view.logged(record.group, self.begun_at)
            if before and before.generation > known[record.group]:
                raise Wrong(f"{about} after {before}, and knows {known[record.group]}")

    def asking(self, group: str) -> None:
        self._shown[group] = self.view.shown(group)

    def writing(self, group: str, offsets: Offsets) -> None:
        """Raises Wrong for offsets that this plan must not write."""
        about = f"plan {self.plan.id} writes {offsets} of {group} in {self.view.region}"
        if group.startswith(VECTORS):
            self._beside.note(group, offsets)
            return
        if late := self._beside.missing(group, offsets):
            raise Wrong(f"{about}, and no vector beside {late}")
        (found,) = (each for each in self.plan.groups if each.group == group)
        if not offsets.items() <= planned(found).items():
            raise Wrong(f"{about}, and confirmed are {planned(found)}")
        if self._known_at > self.rewound_at:
            for place, row in offsets.items():
                if unread := self.unread(place, row):
                    raise Wrong(f"{about}, which was rewound and has not read {unread}")
        own = self.view.of_plan(group, self.plan)
        if own is None:
            raise Wrong(f"{about}, and its decision is not in the log")
        shown = self._shown.pop(group, None)
        if shown and newer(shown, own) != own:
            raise Wrong(f"{about} by {own}, and Redis has {shown}")

    def ended(self, outcome: Outcome, refused: set[str], made: Callable[..., bool]) -> None:
        """Raises Wrong for groups that are told to be done and are not.

        Args:
            refused: groups that had members when their offsets were sent.
            made: returns True if a group's offset was committed in the target at any time.
        """
        for each in outcome.groups:
            about = f"plan {self.plan.id}: {each}"
            was_done = all(it.before == it.resume for it in each.positions)
            if each.state.is_done and each.group in refused and not was_done:
                raise Wrong(f"{about}, and its offsets were refused")
            if each.state in (MoveState.WRITTEN, MoveState.AS_PLANNED):
                for it in each.positions:
                    if not made(each.group, TopicPartition(it.topic, it.partition), it.resume):
                        raise Wrong(f"{about}, and {it} was never committed")


@dataclass(slots=True)
class SyncWatch:
    """Watch over the offset sync of one region."""

    view: DecisionView
    truth: Truth
    read: Callable[[str], Mapping[TopicPartition, set[bytes]]]
    """Returns what a group has read."""
    has_answered: bool = False
    """True if the groups' own region answered when it was last asked for their commits."""
    written: int = 0
    passes: int = 0
    """Passes so far that have begun to look at groups."""
    _shown: dict[str, tuple[float, PrimaryRegion | None]] = field(default_factory=dict)
    _beside: Beside = field(default_factory=Beside)

    def passing(self) -> None:
        self.passes += 1

    def asking(self, group: str) -> None:
        self._shown[group] = self.view.now(), self.view.shown(group)

    def writing(self, group: str, offsets: Offsets) -> None:
        """Raises Wrong for offsets that the sync must not write."""
        here = self.view.region
        about = f"the offset sync of {here} writes {offsets} of {group}"
        if group.startswith(VECTORS):
            self._beside.note(group, offsets)
            return
        if late := self._beside.missing(group, offsets):
            raise Wrong(f"{about}, and no vector beside {late}")
        asked_at, shown = self._shown.pop(group, (self.view.now(), None))
        if shown is None or shown.region in (None, here):
            raise Wrong(f"{about}, and Redis had {shown}")
        known_at = asked_at - DECISIONS_AGE_MS_MAX / 1000 - LOOK_SECONDS
        logged = self.view.logged(group, known_at)
        if logged and newer(logged, shown) != shown:
            raise Wrong(f"{about} by {shown}, and its own log has {logged}")
        if self.has_answered:
            for place, row in offsets.items():
                if unread := self.truth.unread(here, place, row, self.read(group)):
                    raise Wrong(f"{about}, which never read {unread}")
        self.written += 1

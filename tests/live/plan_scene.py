"""A failover plan for groups with unique names, and the real region that it moves them to."""

from __future__ import annotations

import uuid
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace

from confluent_kafka import Producer

from balancer.topic_partition import TopicPartition
from deploy.lab.kafka import KafkaCluster as LabCluster
from deploy.lab.redis import RedisServer
from replicator.config.topology import KafkaCluster
from replicator.groups.failover.outcome import Outcome
from replicator.groups.failover.plan_writer import PlanWriter, Step, Target
from replicator.groups.membership.groups import Groups
from replicator.groups.membership.primary_log import PrimaryLog
from replicator.groups.membership.primary_store import PrimaryStore
from replicator.groups.planning.failover_plan import (
    Case,
    Check,
    Completeness,
    GroupPlan,
    Level,
    Move,
    Plan,
)
from replicator.groups.planning.knowledge import LogRange
from replicator.kafka.admin.admin import Admin

NOW_MS = 1_000_000
GROUPS = 2
STEPS = 3 + GROUPS
"""Steps of applying a plan: the new survey, the log, Redis, and one for each group."""
PATIENCE_SECONDS = 60.0
RECORDS = 310
"""Records in each partition of the target: planned offsets must lie within its log."""


@dataclass
class Scene:
    """A failover plan for groups with unique names, and the region that it moves them to."""

    cluster: LabCluster
    redis_url: str
    plan: Plan
    topic: str
    timeout_seconds: float = 15.0

    @property
    def groups(self) -> list[str]:
        return [each.group for each in self.plan.groups]

    def target(self) -> Target:
        settings = KafkaCluster.model_validate(self.cluster.topology_table())
        name = "east aggregate"
        return Target(
            PrimaryStore(self.redis_url, timeout_seconds=self.timeout_seconds),
            PrimaryLog(name, settings, self.timeout_seconds),
            Groups(name, settings, self.timeout_seconds),
            Admin(name, settings, self.timeout_seconds),
        )

    def steps(
        self, plan: Plan | None = None, now_ms: int = NOW_MS, fresh: Plan | None = None
    ) -> Generator[Step, None, Outcome]:
        plan = plan or self.plan
        return PlanWriter(plan, self.target()).steps(
            FixedLook(fresh or plan, self.topic), who="ann@lab", now_ms=now_ms
        )

    def apply(self, **given: object) -> Outcome:
        return finished(self.steps(**given))  # type: ignore[arg-type]

    def verify(self, plan: Plan | None = None) -> Outcome:
        return PlanWriter(plan or self.plan, self.target()).verified()

    def committed(self, group: str) -> dict[int, int]:
        partitions = [TopicPartition(self.topic, number) for number in (0, 1)]
        found = self.target().groups.commits([group], partitions)[group]
        return {partition.partition: held.offset for partition, held in found.items()}

    def commit(self, group: str, offsets: dict[int, int]) -> None:
        """Commits as a plain client does, for a group without members."""
        at = {TopicPartition(self.topic, number): (it, "") for number, it in offsets.items()}
        assert self.target().groups.write(group, at) == {}


@dataclass
class FixedLook:
    """Fixed result of a new survey; surveys have tests of their own."""

    fresh: Plan
    topic: str

    def plan(self, request, *, plan_id, now_ms):
        groups = tuple(each for each in self.fresh.groups if each.group in request.groups)
        logs = {TopicPartition(self.topic, number): LogRange(0, 10_000) for number in (0, 1)}
        return replace(self.fresh, groups=groups), logs


def finished(steps: Generator[str, None, Outcome]) -> Outcome:
    def told() -> Generator[str, None, None]:
        nonlocal outcome
        outcome = yield from steps

    outcome: Outcome | None = None
    assert all(told())
    assert outcome
    return outcome


def plan_of(groups: Sequence[str], topic: str, resume: int = 100) -> Plan:
    moves = [
        Move(
            topic=topic,
            partition=number,
            case=Case.MOVES,
            committed=500,
            resume=resume + number,
            basis="exact",
            vector={"west": 40 + number},
        )
        for number in (0, 1)
    ]
    return Plan(
        id=f"plan-{uuid.uuid4().hex[:8]}",
        created_at_ms=NOW_MS - 1000,
        expires_at_ms=NOW_MS + 60_000,
        source="west",
        target="east",
        reason="west is lost",
        is_planned=False,
        age_ms=0,
        completeness=Completeness(2, 2, 2),
        checks=(Check("age", Level.PASS, "young"),),
        groups=tuple(GroupPlan(group, None, tuple(moves)) for group in sorted(groups)),
    )


def scene_in(cluster: LabCluster, redis: RedisServer, topic: str, **fields: object) -> Scene:
    mark = uuid.uuid4().hex[:8]
    names = [f"group-{number}-{mark}" for number in range(GROUPS)]
    producer = Producer(cluster.librdkafka_options())
    for number in range(2 * RECORDS):
        producer.produce(topic, b"", partition=number % 2)
    assert producer.flush(PATIENCE_SECONDS) == 0
    return Scene(cluster, redis.url, plan_of(names, topic), topic, **fields)

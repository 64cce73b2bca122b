"""New failover plans in a region whose Redis was flushed."""

from __future__ import annotations

import time
import uuid

from balancer.topic_partition import TopicPartition
from deploy.lab.kafka import KafkaCluster as LabCluster
from replicator.groups.failover.fresh_plans import FreshPlans
from replicator.groups.membership.primary_log import PrimaryLog
from replicator.groups.membership.primary_region import decided
from replicator.groups.membership.primary_store import PrimaryStore
from replicator.groups.planning.knowledge import Request
from tests.live.conftest import TopicMaker
from tests.live.hand_carried import HandCarried


def test_a_decision_that_only_the_targets_log_has_counts_in_a_plan(
    regional: LabCluster, aggregate: LabCluster, redis, make_topic: TopicMaker
):
    regions = HandCarried({"west": regional, "east": aggregate}, redis.url)
    partition = TopicPartition(make_topic(regional, aggregate), 0)
    for where in ("west", "east"):
        regions.land(where, partition, ("west", 10), ("east", 5))
        regions.publish(where)
    group = f"group-{uuid.uuid4().hex[:12]}"
    regions.commit("west", group, {partition: 12})
    west, east = regions.name["west"], regions.name["east"]
    first = decided(None, group, west, at_ms=1, who="ann", why="test")
    moved = decided(first, group, east, at_ms=2, who="ann", why="test")
    PrimaryLog("east aggregate", regions.settings("east")).write([moved])
    with PrimaryStore(regions.url("east")) as store:
        store.write([first])
    plans = FreshPlans(regions.appliance)
    asked = Request(source=west, target=east, reason="", groups=frozenset({group}))
    made, _ = plans.plan(asked, plan_id="p", now_ms=time.time_ns() // 1_000_000)
    assert [each.generation for each in made.groups] == [2]
    assert plans.groups(west, east)[group] == east

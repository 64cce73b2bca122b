"""`sluice failover apply` that loses an answer or is killed while it applies a large plan."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as KafkaTopicPartition

from balancer.topic_partition import TopicPartition
from deploy.lab.kafka import KafkaCluster
from deploy.lab.redis import RedisServer
from replicator.config.topology import load
from replicator.groups.planning.failover_plan import Case, Completeness, GroupPlan, Move, Plan
from replicator.groups.planning.knowledge import LogRange
from tests.live.conftest import ClusterMaker
from tests.live.failover_command import applied, plans, verified
from tests.live.relocating import PARTITIONS, Relocating, make_topic
from tui.commands.exit_codes import ExitCode
from tui.commands.plan_commands import plan_writer

PATIENCE_SECONDS = 60.0
GROUPS = 800
"""Number of groups; applying a plan for so many takes seconds and can be interrupted."""


@pytest.fixture
def many(
    make_cluster: ClusterMaker, regional: KafkaCluster, redis: RedisServer, tmp_path: Path
) -> tuple[Relocating, Plan]:
    """A plan that was begun: only its offsets are left to be written."""
    regions = Relocating(regional, make_cluster("east"), redis, tmp_path)
    make_topic(regions.clusters[regions.east], regions.topic)
    regions.produce(regions.east, 9)
    now_ms = regions.now_ms()
    moves = tuple(
        Move(topic=regions.topic, partition=number, case=Case.MOVES, committed=9, resume=9)
        for number in range(PARTITIONS)
    )
    names = [f"group-{number:03d}" for number in range(GROUPS)]
    plan = Plan(
        id="many",
        created_at_ms=now_ms,
        expires_at_ms=now_ms + 600_000,
        source=regions.west,
        target=regions.east,
        reason="drill",
        is_planned=False,
        age_ms=0,
        completeness=Completeness(0, 0, 0),
        checks=(),
        groups=tuple(GroupPlan(name, None, moves) for name in names),
    )
    plans(regions).save(plan)

    class Same:
        def plan(self, request, **_):
            logs = {TopicPartition(regions.topic, n): LogRange(0, 9) for n in range(PARTITIONS)}
            return plan, logs

    appliance = load(regions.config)
    steps = plan_writer(appliance, plan, 15.0).steps(Same(), who="ann", now_ms=now_ms)
    assert len(list(islice(steps, 4))) == 4
    steps.close()
    return regions, plan


def applying(regions: Relocating, timeout: str) -> subprocess.Popen[str]:
    """Returns the process of a `sluice failover apply` that has begun to write."""
    options = regions.clusters[regions.east].librdkafka_options()
    consumer = Consumer({**options, "group.id": "group-003"})
    partition = KafkaTopicPartition(regions.topic, 0)
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "tui.program", "failover", "apply", "many"),
            *("--config", str(regions.config), "--timeout", timeout, "-o", "json"),
            *("--confirm", f"{regions.west}:{regions.east}"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while process.poll() is None and consumer.committed([partition], timeout=30)[0].offset < 0:
            pass
    finally:
        consumer.close()
    if process.poll() is not None:
        pytest.fail(f"it ended before it could be caught: {process.communicate()}")
    return process


@pytest.mark.core
def test_an_answer_that_is_lost_ends_with_7_and_a_second_apply_finishes(sluice, many):
    regions, plan = many
    process = applying(regions, "15")
    regions.clusters[regions.east].pause()
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == ExitCode.RESULT_UNKNOWN, err
    value = json.loads(out)
    assert set(value["done"]).isdisjoint(value["not_done"])
    assert "unknown" in {group["standing"] for group in value["groups"]}
    assert f"sluice failover verify {plan.id} --config {regions.config}" in err
    code, _, _ = sluice(
        "failover", "verify", "many", "--config", str(regions.config), "--timeout", "1"
    )
    assert code == ExitCode.UNREACHABLE
    regions.clusters[regions.east].resume()
    regions.clusters[regions.east].wait_ready()
    code, _, err = applied(sluice, regions, "many", "--timeout", "30")
    assert code == ExitCode.DONE, err
    assert verified(sluice, regions, "many")[0] == ExitCode.DONE


def test_a_killed_apply_is_reported_by_verify_and_finished_by_a_second_one(sluice, many):
    regions, plan = many
    process = applying(regions, "15")
    process.kill()
    process.communicate()
    code, out, _ = verified(sluice, regions, "many")
    assert code == ExitCode.PARTLY_DONE and out.startswith("PARTLY DONE")
    code, _, err = applied(sluice, regions, "many", "--timeout", "30")
    assert code == ExitCode.DONE, err
    assert len(plan.groups) == GROUPS
    assert verified(sluice, regions, "many")[0] == ExitCode.DONE

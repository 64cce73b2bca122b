"""A failover plan applied to a real cluster and a real Redis: interrupted at any step, applied
twice, or applied by two operators at once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from itertools import islice

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as KafkaTopicPartition
from redis import Redis

from balancer.topic_partition import TopicPartition
from deploy.lab.kafka import KafkaCluster as LabCluster
from deploy.lab.redis import RedisServer
from deploy.lab.wait import until
from replicator.groups.failover.outcome import MoveState, Outcome
from replicator.groups.membership.primary_store import KEY
from replicator.groups.planning.failover_plan import Check, GroupPlan, Level
from replicator.groups.planning.recheck import PlanStale, Refused
from replicator.groups.progress.vector_metadata import decode, encode
from replicator.kafka.admin.admin_error import AdminUnreachable
from tests.live.conftest import ClusterMaker, TopicMaker
from tests.live.plan_scene import (
    GROUPS,
    NOW_MS,
    PATIENCE_SECONDS,
    RECORDS,
    STEPS,
    Scene,
    finished,
    plan_of,
    scene_in,
)


@pytest.fixture
def scene(aggregate: LabCluster, redis: RedisServer, make_topic: TopicMaker) -> Scene:
    return scene_in(aggregate, redis, make_topic(aggregate, partitions=2))


def states(outcome: Outcome) -> list[MoveState]:
    return [each.state for each in outcome.groups]


@pytest.mark.core
def test_groups_live_in_the_target_and_go_on_where_the_plan_says(scene: Scene):
    outcome = scene.apply()
    assert states(outcome) == [MoveState.WRITTEN] * GROUPS
    first = outcome.groups[0].positions[0]
    assert (first.before, first.resume, first.after) == (None, 100, 100)
    for group in scene.groups:
        assert scene.committed(group) == {0: 100, 1: 101}
    partition = TopicPartition(scene.topic, 1)
    held = scene.target().groups.commits(scene.groups, [partition])[scene.groups[0]][partition]
    assert decode(held.metadata) == {"west": 41}

    records = scene.target().store.all()
    in_log = scene.target().log.read()
    for group in scene.groups:
        record = records[group]
        assert record == in_log[group]
        assert (record.region, record.generation, record.plan_id) == ("east", 1, scene.plan.id)
        assert (record.who, record.why) == ("ann@lab", "west is lost")
    assert states(scene.verify()) == [MoveState.AS_PLANNED] * GROUPS


@pytest.mark.parametrize("done", range(STEPS + 1))
def test_broken_off_after_any_step_verify_is_right_and_a_second_apply_finishes(
    scene: Scene, done: int
):
    with closing(scene.steps()) as steps:
        assert len(list(islice(steps, done))) == done
    written = max(0, done - 3)
    found = states(scene.verify())
    assert found.count(MoveState.AS_PLANNED) == written
    assert found.count(MoveState.OPEN) == GROUPS - written
    assert states(scene.apply()).count(MoveState.WRITTEN) == GROUPS - written
    assert scene.verify().not_done == ()
    for group in scene.groups:
        assert scene.committed(group) == {0: 100, 1: 101}
    assert {r.generation for r in scene.target().store.all().values()} == {1}


def test_a_begun_plan_is_finished_whatever_changed_in_its_source_and_however_late(
    scene: Scene,
):
    with closing(scene.steps()) as steps:
        list(islice(steps, 3))
    rewound = replace(scene.plan, groups=())
    assert scene.apply(fresh=rewound, now_ms=scene.plan.expires_at_ms).not_done == ()


def test_an_expired_plan_changes_nothing(scene: Scene):
    with pytest.raises(PlanStale, match="expired 0 s ago"):
        scene.apply(now_ms=scene.plan.expires_at_ms)
    assert unchanged(scene)


def test_a_plan_that_is_blocked_changes_nothing(scene: Scene):
    block = Check("basis", Level.BLOCK, "nothing is known")
    with pytest.raises(Refused, match="nothing is known"):
        scene.apply(plan=replace(scene.plan, checks=(block,)))
    with pytest.raises(Refused, match="nothing is known"):
        scene.apply(fresh=replace(scene.plan, checks=(block,)))
    assert unchanged(scene)


def unchanged(scene: Scene) -> bool:
    records = scene.target().store.all()
    return not any(group in records or scene.committed(group) for group in scene.groups)


def test_a_group_that_has_gone_on_in_the_target_is_done_and_left_alone(scene: Scene):
    scene.apply()
    first, _ = scene.groups
    scene.commit(first, {0: 150})
    assert states(scene.apply()) == [MoveState.MOVED_ON, MoveState.AS_PLANNED]
    assert scene.committed(first) == {0: 150, 1: 101}
    assert scene.verify().not_done == ()


def test_a_rewind_in_the_target_is_not_skipped_by_applying_again(scene: Scene):
    scene.apply()
    first, _ = scene.groups
    scene.commit(first, {0: 7})
    assert states(scene.apply()) == [MoveState.OVERTAKEN, MoveState.AS_PLANNED]
    assert scene.committed(first) == {0: 7, 1: 101}


def test_progress_in_the_target_is_taken_back_only_as_far_as_it_was_named(scene: Scene):
    first, _ = scene.groups
    scene.commit(first, {0: 300})
    known = tuple(
        replace(move, target_committed=300 if move.partition == 0 else None)
        for move in scene.plan.groups[0].moves
    )
    fresh = replace(scene.plan, groups=(GroupPlan(first, None, known), scene.plan.groups[1]))
    with pytest.raises(Refused, match="progress"):
        scene.apply(fresh=fresh)
    assert scene.committed(first) == {0: 300}
    named = replace(fresh, may_go_back=(first,))
    assert scene.apply(plan=named).not_done == ()
    assert scene.committed(first) == {0: 100, 1: 101}


def with_older_vectors(scene: Scene) -> Scene:
    """Commits the planned offsets with older vectors, as the offset sync does that knew less."""
    older = {"west": 3}
    at = {TopicPartition(scene.topic, n): (100 + n, encode(older)) for n in (0, 1)}
    for group in scene.groups:
        assert scene.target().groups.write(group, at) == {}
    groups = tuple(
        replace(
            each,
            moves=tuple(
                replace(move, target_committed=move.resume, target_vector=older)
                for move in each.moves
            ),
        )
        for each in scene.plan.groups
    )
    return replace(scene, plan=replace(scene.plan, groups=groups))


def vectors(scene: Scene, group: str) -> list[dict[str, int]]:
    partitions = [TopicPartition(scene.topic, number) for number in (0, 1)]
    found = scene.target().groups.commits([group], partitions)[group]
    return [decode(found[partition].metadata) for partition in partitions]


@pytest.mark.parametrize("done", [2, 3])
def test_where_the_offset_is_right_already_the_vector_is_still_to_be_written(
    scene: Scene, done: int
):
    scene = with_older_vectors(scene)
    with closing(scene.steps()) as steps:
        list(islice(steps, done))
    assert states(scene.verify()) == [MoveState.OPEN] * GROUPS
    assert states(scene.apply()) == [MoveState.WRITTEN] * GROUPS
    assert states(scene.verify()) == [MoveState.AS_PLANNED] * GROUPS
    for group in scene.groups:
        assert vectors(scene, group) == [{"west": 40}, {"west": 41}]


def test_a_begun_plan_writes_no_offset_that_retention_took_since(scene: Scene):
    with closing(scene.steps()) as steps:
        list(islice(steps, 3))
    admin = scene.cluster.admin()
    for future in admin.delete_records([KafkaTopicPartition(scene.topic, 0, 150)]).values():
        future.result(PATIENCE_SECONDS)
    outcome = scene.apply(now_ms=scene.plan.expires_at_ms)
    assert states(outcome) == [MoveState.WRITTEN] * GROUPS
    assert "took up to 50 unread offsets" in outcome.groups[0].why
    assert f"{scene.topic}-0 continues at 150" in outcome.groups[0].why
    for group in scene.groups:
        assert scene.committed(group) == {0: 150, 1: 101}
    assert scene.verify().not_done == ()


def test_a_plan_that_was_begun_does_not_write_past_a_log_that_lost_its_end(scene: Scene):
    far = plan_of(scene.groups, scene.topic, resume=RECORDS)
    with closing(scene.steps(plan=far)) as steps:
        list(islice(steps, 3))
    outcome = scene.apply(plan=far)
    assert states(outcome) == [MoveState.OPEN] * GROUPS
    assert "does not hold offset" in outcome.groups[0].why
    assert f"{scene.topic}-1" in outcome.groups[0].why
    assert scene.committed(scene.groups[0]) == {}


@pytest.mark.parametrize("done", [2, 3])
def test_a_plan_that_was_begun_is_known_by_its_log_where_redis_has_forgotten_it(
    scene: Scene, done: int
):
    with closing(scene.steps()) as steps:
        list(islice(steps, done))
    with Redis.from_url(scene.redis_url) as connection:
        connection.hdel(KEY, *scene.groups)
    assert scene.apply(now_ms=scene.plan.expires_at_ms).not_done == ()
    records = scene.target().store.all()
    assert {records[group].plan_id for group in scene.groups} == {scene.plan.id}
    assert {records[group].generation for group in scene.groups} == {1}


Joining = Callable[[str], Consumer]


@pytest.fixture
def join(scene: Scene):
    consumer: Consumer | None = None

    def join(group: str) -> Consumer:
        nonlocal consumer
        options = scene.cluster.librdkafka_options()
        consumer = Consumer({**options, "group.id": group, "enable.auto.commit": False})
        consumer.subscribe([scene.topic])

        def is_in() -> bool:
            consumer.poll(0.1)
            return bool(consumer.assignment())

        assert until(is_in, PATIENCE_SECONDS)
        return consumer

    try:
        yield join
    finally:
        if consumer:
            consumer.close()


def test_a_group_that_starts_while_a_plan_is_applied_is_left_and_finished_once_it_stopped(
    scene: Scene, join: Joining
):
    steps = scene.steps()
    list(islice(steps, 3))
    first, _ = scene.groups
    consumer = join(first)
    outcome = finished(steps)
    assert states(outcome) == [MoveState.OPEN, MoveState.WRITTEN]
    assert "has members in east" in outcome.groups[0].why
    consumer.close()
    assert scene.apply().not_done == ()


def test_a_group_that_started_is_left_also_where_only_its_vector_is_missing(
    scene: Scene, join: Joining
):
    scene = with_older_vectors(scene)
    first, _ = scene.groups
    consumer = join(first)
    outcome = scene.apply()
    assert states(outcome) == [MoveState.OPEN, MoveState.WRITTEN]
    assert "has members in east" in outcome.groups[0].why
    consumer.close()
    assert scene.apply().not_done == ()
    assert vectors(scene, first) == [{"west": 40}, {"west": 41}]


def test_a_group_that_started_before_its_offsets_were_written_is_not_called_moved(
    scene: Scene, join: Joining
):
    steps = scene.steps()
    list(islice(steps, 3))
    first, _ = scene.groups
    consumer = join(first)
    # The end of the log, past all planned offsets, as auto.offset.reset may have set it.
    ends = [KafkaTopicPartition(scene.topic, number, RECORDS) for number in (0, 1)]
    consumer.commit(offsets=ends, asynchronous=False)
    outcome = finished(steps)
    assert states(outcome) == [MoveState.OPEN, MoveState.WRITTEN]
    assert "has members in east" in outcome.groups[0].why


def test_two_applications_of_one_plan_at_once_both_finish(scene: Scene):
    one, other = scene.steps(), scene.steps(now_ms=NOW_MS + 1)
    for steps in (one, other, one, other, one):
        next(steps)
    assert finished(other).not_done == ()
    assert finished(one).not_done == ()
    assert scene.committed(scene.groups[0]) == {0: 100, 1: 101}


def test_of_two_plans_the_one_whose_record_stays_moves_the_groups_and_the_other_is_overtaken(
    scene: Scene,
):
    later = plan_of(scene.groups, scene.topic, resume=200)
    one, other = scene.steps(), scene.steps(plan=later, now_ms=NOW_MS + 1)
    for steps in (one, other):
        list(islice(steps, 3))
    overtaken = finished(one)
    assert states(overtaken) == [MoveState.OVERTAKEN] * GROUPS
    assert later.id in overtaken.groups[0].why
    assert finished(other).not_done == ()
    assert scene.committed(scene.groups[0]) == {0: 200, 1: 201}
    assert scene.verify().done == ()


def test_a_plan_that_another_one_overtook_is_stale(scene: Scene):
    scene.apply()
    now = replace(scene.plan, groups=tuple(replace(it, generation=1) for it in scene.plan.groups))
    with pytest.raises(PlanStale, match="decided anew"):
        scene.apply(plan=plan_of(scene.groups, scene.topic, resume=200), fresh=now)


def test_a_redis_that_dies_between_leaves_nothing_written_and_is_named(
    aggregate: LabCluster, make_topic: TopicMaker, tmp_path
):
    own = RedisServer(tmp_path)
    own.start()
    try:
        own.wait_ready()
        scene = scene_in(aggregate, own, make_topic(aggregate, partitions=2), timeout_seconds=5.0)
        steps = scene.steps()
        list(islice(steps, 2))
        own.kill()
        outcome = finished(steps)
        assert states(outcome) == [MoveState.OPEN] * GROUPS
        assert "recorded as living in east, but" in outcome.groups[0].why
        assert scene.committed(scene.groups[0]) == {}
        own.start()
        own.wait_ready()
        assert scene.apply().not_done == ()
    finally:
        own.kill()


def test_an_answer_that_was_lost_is_unknown_until_it_can_be_read(
    make_cluster: ClusterMaker, redis: RedisServer, make_topic: TopicMaker
):
    cluster = make_cluster("east")
    topic = make_topic(cluster, partitions=2)
    scene = scene_in(cluster, redis, topic, timeout_seconds=3.0)
    steps = scene.steps()
    list(islice(steps, 3))
    cluster.pause()
    outcome = finished(steps)
    assert states(outcome) == [MoveState.UNKNOWN, MoveState.OPEN]
    assert not outcome.is_known
    assert scene.plan.groups[0].group in outcome.not_done
    with pytest.raises(AdminUnreachable):
        scene.verify()
    cluster.resume()
    cluster.wait_ready()
    patient = replace(scene, timeout_seconds=15.0)
    assert patient.apply().not_done == ()
    assert patient.verify().not_done == ()

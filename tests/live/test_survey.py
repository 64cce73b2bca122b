"""Surveys of real servers before a failover, and plans made from them."""

from __future__ import annotations

import time
import uuid
from dataclasses import replace

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as KafkaTopicPartition
from redis import Redis

from balancer.topic_partition import TopicPartition
from deploy.lab.kafka import KafkaCluster as LabCluster
from deploy.lab.wait import until
from replicator.groups.failover.survey import SOURCE_SECONDS_MAX, Survey
from replicator.groups.membership.primary_region import decided
from replicator.groups.membership.primary_store import PrimaryStore
from replicator.groups.planning.failover_plan import Case, Count, Move, Plan
from replicator.groups.planning.knowledge import Choice, Knowledge, Request
from replicator.groups.planning.offset_planner import plan
from replicator.kafka.admin.admin_error import AdminUnreachable
from replicator.kafka.client.loss import Loss, LossKind
from replicator.mirror.ledger.entry import Custody
from replicator.mirror.offset_map.offset_store import OffsetStore
from tests.live.conftest import TopicMaker
from tests.live.hand_carried import HandCarried


@pytest.fixture
def regions(regional: LabCluster, aggregate: LabCluster, redis) -> HandCarried:
    """Two regions, both of which answer."""
    return HandCarried({"west": regional, "east": aggregate}, redis.url)


@pytest.fixture
def lost(aggregate: LabCluster, redis) -> HandCarried:
    """Two regions, of which west, the source of the move, is down."""
    return HandCarried({"east": aggregate}, redis.url, away=["west"])


@pytest.fixture
def group() -> str:
    return f"group-{uuid.uuid4().hex[:12]}"


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def survey(regions: HandCarried, source="west", target="east", **options) -> Survey:
    return Survey(regions.appliance, regions.name[source], regions.name[target], **options)


def request(regions: HandCarried, *groups: str, source="west", target="east", **more) -> Request:
    names = regions.name[source], regions.name[target]
    return Request(source=names[0], target=names[1], reason="", groups=frozenset(groups), **more)


def known(regions: HandCarried, asked: Request, **options) -> Knowledge:
    made = Survey(regions.appliance, asked.source, asked.target, **options)
    return made.knowledge(asked, now_ms())


def planned(regions: HandCarried, asked: Request, **options) -> Plan:
    return plan(asked, known(regions, asked, **options), plan_id="p", now_ms=now_ms())


def moves(made: Plan) -> dict[TopicPartition, Move]:
    return {move.topic_partition: move for _, move in made.moves()}


def vector(regions: HandCarried, move: Move) -> dict[str, int]:
    names = {full: name for name, full in regions.name.items()}
    return {names[region]: offset for region, offset in move.vector.items()}


def interleaved(regions: HandCarried, partition: TopicPartition, *wheres: str) -> None:
    """Lands west's records first in west and last in east; their runs are published everywhere."""
    blocks = {
        "west": [("west", 10), ("east", 5), ("west", 3)],
        "east": [("east", 5), ("west", 13)],
    }
    for where in wheres:
        regions.land(where, partition, *blocks[where])
        regions.publish(where)


def test_a_group_resumes_behind_what_it_has_read_and_meets_only_what_the_plan_counts(
    regions, make_topic: TopicMaker, regional, aggregate, group
):
    partition = TopicPartition(make_topic(regional, aggregate), 0)
    interleaved(regions, partition, "west", "east")
    regions.commit("west", group, {partition: 12})
    assert group in survey(regions).groups()
    made = planned(regions, request(regions, group))
    move = moves(made)[partition]
    assert (move.case, move.resume, move.basis) == (Case.MOVES, 2, "exact")
    assert vector(regions, move) == {"west": 10, "east": 2}
    assert move.read_again == Count(10)
    met = regions.read("east", partition, move.resume)
    read = set(regions.log("west", partition)[:12])
    assert len(read & set(met)) == 10
    assert read | set(met) == set(regions.log("west", partition))
    assert not [check.name for check in made.blocks]
    assert made.age_ms is not None and made.age_ms < 60_000


def test_a_lost_source_makes_the_same_plan_and_does_not_make_it_slow(
    lost, make_topic: TopicMaker, aggregate, group
):
    partition = TopicPartition(make_topic(aggregate), 0)
    interleaved(lost, partition, "west", "east")
    lost.commit("west", group, {partition: 12})
    began = time.monotonic()
    made = planned(lost, request(lost, group))
    assert time.monotonic() - began < SOURCE_SECONDS_MAX + 2
    move = moves(made)[partition]
    assert (move.resume, move.basis, move.read_again) == (2, "exact", Count(10))
    activity = next(check for check in made.checks if check.name == "source activity")
    assert "does not answer" in activity.text


def test_three_regions_stand_in_a_plan_also_one_that_never_sent_a_record(
    regional, aggregate, redis, make_topic: TopicMaker, group
):
    regions = HandCarried({"west": regional, "east": aggregate}, redis.url, away=["north", "south"])
    partition = TopicPartition(make_topic(regional, aggregate), 0)
    regions.land("west", partition, ("west", 4), ("north", 6), ("east", 5))
    regions.land("east", partition, ("east", 5), ("north", 3), ("west", 4), ("north", 3))
    for where in ("west", "east"):
        regions.publish(where)
    regions.commit("west", group, {partition: 7})
    move = moves(planned(regions, request(regions, group)))[partition]
    assert vector(regions, move) == {"west": 4, "north": 3, "east": 0, "south": 0}
    assert (move.resume, move.basis, move.read_again) == (0, "exact", Count(7))
    assert not move.notes
    # South's clusters are down, but its Redis is not.
    for where in ("west", "east"):
        regions.copied("south", where)
    to_south = planned(regions, request(regions, group, target="west", source="east"))
    assert to_south.groups[0].moves == ()


def test_a_group_that_comes_back_is_not_taken_behind_what_it_had_read_before(
    regions, make_topic: TopicMaker, regional, aggregate, group
):
    partition = TopicPartition(make_topic(regional, aggregate), 0)
    interleaved(regions, partition, "west", "east")
    # The group came from west, where it had read ten of west and four of east; in east it read two
    # more.
    regions.commit("east", group, {partition: 7}, vector={"west": 10, "east": 4})
    back = request(regions, group, source="east", target="west")
    move = moves(planned(regions, back))[partition]
    assert vector(regions, move) == {"west": 10, "east": 5}
    assert (move.resume, move.basis) == (15, "exact")


def test_a_plan_has_the_groups_target_commits_and_primary_region(
    regions, make_topic: TopicMaker, regional, aggregate, group
):
    partition = TopicPartition(make_topic(regional, aggregate), 0)
    interleaved(regions, partition, "west", "east")
    regions.commit("west", group, {partition: 12})
    regions.commit("east", group, {partition: 9})
    record = decided(None, group, regions.name["west"], at_ms=1, who="ann", why="test")
    with PrimaryStore(regions.url("east")) as store:
        store.write([record])
    made = planned(regions, request(regions, group))
    assert moves(made)[partition].target_committed == 9
    assert [check.name for check in made.blocks] == ["progress"]
    assert made.groups[0].primary_region == regions.name["west"]


@pytest.mark.parametrize("where", ["west", "east"])
def test_members_are_seen_in_both_regions(
    regions, make_topic: TopicMaker, regional, aggregate, group, where
):
    partition = TopicPartition(make_topic(regional, aggregate), 0)
    interleaved(regions, partition, "west", "east")
    regions.commit("west", group, {partition: 12})
    cluster = {"west": regional, "east": aggregate}[where]
    consumer = Consumer({**cluster.librdkafka_options(), "group.id": group})
    try:
        consumer.subscribe([partition.topic])
        assert until(lambda: bool(consumer.poll(0.1) or consumer.assignment()), 60)
        found = known(regions, request(regions, group))
        assert found.active_in_source == (frozenset({group} if where == "west" else ()))
        assert found.active_in_target == (frozenset({group} if where == "east" else ()))
    finally:
        consumer.close()


def test_groups_without_commits_and_partitions_without_a_target_are_named(
    regions, make_topic: TopicMaker, regional, aggregate, group
):
    topic = make_topic(regional, aggregate, partitions=2)
    partition, other = TopicPartition(topic, 0), TopicPartition(topic, 1)
    absent, unmirrored = TopicPartition(topic, 7), TopicPartition(make_topic(regional), 0)
    by_hand = TopicPartition(make_topic(regional, aggregate), 0)
    interleaved(regions, partition, "west", "east")
    regions.commit_rows("west", [(group, it, 3, "") for it in (partition, unmirrored, by_hand)])
    regions.copied_only("east", "west", [(group, absent, 3, "")])
    made = planned(regions, request(regions, group, "idle"))
    assert {it: move.case for it, move in moves(made).items()} == {
        partition: Case.MOVES,
        other: Case.UNCOMMITTED,
        absent: Case.GONE,
        unmirrored: Case.NOT_MIRRORED,
        by_hand: Case.NOT_MIRRORED,
    }
    assert {each.group: len(each.moves) for each in made.groups} == {group: 5, "idle": 0}
    only = planned(regions, request(regions, group, topics=frozenset({unmirrored.topic})))
    assert list(moves(only)) == [unmirrored]
    assert "left out" in [check.name for check in only.blocks]


def test_a_group_at_the_logs_end_or_below_its_start_goes_to_the_same_in_the_target(
    regions, make_topic: TopicMaker, regional, aggregate, group
):
    topic = make_topic(regional, aggregate, partitions=2)
    at_end, below = TopicPartition(topic, 0), TopicPartition(topic, 1)
    for partition in (at_end, below):
        interleaved(regions, partition, "west", "east")
    _delete_before(aggregate, below, 6)
    _delete_before(regional, below, 4)
    regions.commit("west", group, {at_end: 18, below: 2})
    found = moves(planned(regions, request(regions, group)))
    assert (found[at_end].resume, found[at_end].basis) == (18, "exact")
    assert found[at_end].read_again == Count(0)
    assert any("has read all" in note for note in found[at_end].notes)
    assert found[below].resume == 6
    assert found[below].retention_took == 6
    assert any("below the log's start" in note for note in found[below].notes)


def _delete_before(cluster: LabCluster, partition: TopicPartition, offset: int) -> None:
    admin = cluster.admin()
    (answer,) = admin.delete_records([KafkaTopicPartition(*partition, offset)]).values()
    answer.result(30)


def test_choices_go_by_the_target_logs(regions, make_topic: TopicMaker, regional, aggregate, group):
    partition = TopicPartition(make_topic(regional, aggregate), 0)
    regions.land("west", partition, ("west", 4))
    regions.land("east", partition, ("west", 4))
    between = now_ms() + 1
    assert until(lambda: now_ms() > between, 5)
    regions.land("east", partition, ("east", 3))
    regions.publish("west")
    regions.entry("west", "east", partition, source_offset=4, target_offset=4)
    # East knows nothing of east's own records, except that they were adopted.
    regions.entry("east", "west", partition, custody=Custody.VIRGIN, target_offset=0)
    regions.witness("east", "east", partition.topic)
    regions.commit("west", group, {partition: 2})
    asked = request(regions, group)
    assert moves(planned(regions, asked))[partition].case is Case.UNKNOWN
    for choice, resume in (
        (Choice(), 0),
        (Choice(between), 4),
        (Choice(now_ms() + 60_000), 7),
    ):
        move = moves(planned(regions, replace(asked, choices={group: choice})))[partition]
        assert (move.case, move.resume) == (Case.CHOSEN, resume)


def test_before_anything_came_by_a_route_it_holds_nothing_up(
    regions, make_topic: TopicMaker, regional, aggregate, group
):
    partition = TopicPartition(make_topic(regional, aggregate), 0)
    regions.land("west", partition, ("west", 9))
    regions.land("east", partition, ("west", 9))
    # Only west's records are known; east has no such topic, or no records in it.
    for where in ("west", "east"):
        regions.publish(where)
    regions.commit("west", group, {partition: 6})
    move = moves(planned(regions, request(regions, group)))[partition]
    assert (move.resume, move.basis, move.read_again) == (6, "exact", Count(0))
    for where in ("west", "east"):
        regions.entry("east", where, partition, custody=Custody.VIRGIN, target_offset=0)
        regions.witness("east", where, partition.topic)
    move = moves(planned(regions, request(regions, group)))[partition]
    assert (move.resume, move.basis, move.read_again) == (6, "exact", Count(0))


@pytest.mark.parametrize(
    ("where", "changes", "said"),
    [
        ("west", {"parked": Loss(LossKind.SOURCE_CORRUPT, 3, 4)}, "source batch cannot be read"),
        ("east", {"parked": Loss(LossKind.TARGET_TRUNCATED, 3, 4)}, "target lost"),
        ("east", {"target_topic": uuid.uuid4()}, "recreated"),
    ],
)
def test_a_route_that_is_parked_or_has_lost_its_topic_is_named_and_skips_nothing(
    regions, make_topic: TopicMaker, regional, aggregate, group, where, changes, said
):
    partition = TopicPartition(make_topic(regional, aggregate), 0)
    interleaved(regions, partition, "west", "east")
    regions.commit("west", group, {partition: 12})
    regions.entry("east", where, partition, **changes)
    move = moves(planned(regions, request(regions, group)))[partition]
    assert any(said in note and regions.name["east"] in note for note in move.notes)
    assert move.resume is None or move.resume <= 2


def test_an_entry_that_cannot_be_read_or_is_gone_leaves_the_runs_of_the_only_topic_there_is(
    regions, make_topic: TopicMaker, regional, aggregate, group
):
    partition = TopicPartition(make_topic(regional, aggregate), 0)
    interleaved(regions, partition, "west", "east")
    regions.commit("west", group, {partition: 12})
    row = regions.row("east", "east", partition)
    regions.commit_rows("east", [(*row[:3], "not ours")])
    move = moves(planned(regions, request(regions, group)))[partition]
    assert any("cannot be read" in note for note in move.notes)
    assert (move.resume, move.basis) == (2, "exact")
    # The same runs under other topic ids can no longer be attributed.
    key = regions.key("east", "east", partition)
    with OffsetStore(regions.url("east"), regions.route("east", "east").key) as store:
        (piece,) = store.pieces([key])[key]
        store.copy(replace(key, source_topic_id="other"), [piece])
    move = moves(planned(regions, request(regions, group)))[partition]
    assert (move.case, move.resume) == (Case.UNKNOWN, None)


def test_after_a_flush_of_the_targets_redis_nothing_is_claimed(
    regions, make_topic: TopicMaker, regional, aggregate, redis, group
):
    partition = TopicPartition(make_topic(regional, aggregate), 0)
    interleaved(regions, partition, "west", "east")
    regions.commit("west", group, {partition: 12})
    with Redis.from_url(redis.url) as client:
        client.flushall()
    asked = request(regions, group)
    made = planned(regions, asked)
    assert made.groups[0].moves == ()
    assert made.age_ms is None
    assert "age" in [check.name for check in made.blocks]
    # Commits are copied first, and runs later.
    regions.begin_copies_anew()
    regions.copied_only("east", "west", [(group, partition, 12, "")])
    move = moves(planned(regions, asked))[partition]
    assert (move.case, move.resume) == (Case.UNKNOWN, None)


def test_a_target_that_is_away_is_named(lost, make_topic: TopicMaker, aggregate, group):
    partition = TopicPartition(make_topic(aggregate), 0)
    interleaved(lost, partition, "west", "east")
    lost.commit("west", group, {partition: 12})
    lost.commit("east", group, {partition: 12})
    back = request(lost, group, source="east", target="west")
    with pytest.raises(AdminUnreachable, match=lost.name["west"]):
        known(lost, back, timeout_seconds=1.0)

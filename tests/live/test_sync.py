"""Offset sync: groups of west are kept in step in east, where a consumer can simply start."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as KafkaTopicPartition
from redis import Redis

from balancer.topic_partition import TopicPartition
from deploy.lab.kafka import KafkaCluster as LabCluster
from deploy.lab.wait import until
from replicator.groups.copies.commit_store import CommitStore
from replicator.groups.membership.activity import ActivityStore
from replicator.groups.membership.groups import Groups
from replicator.groups.membership.primary_region import PrimaryRegion
from replicator.groups.membership.primary_store import PrimaryCopies, PrimaryStore
from replicator.groups.offset_sync.due import AGAIN_MS, LATE_MS
from replicator.groups.offset_sync.passes import PassFailed
from replicator.groups.offset_sync.region_sync import OtherRegion
from replicator.groups.offset_sync.sync import DECISIONS_AGE_MS_MAX, OffsetSync, other_region
from replicator.groups.planning.knowledge import GroupProgress, Knowledge, Progress, Request
from replicator.groups.progress.vector_metadata import decode
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata
from replicator.kafka.tail.consumer_offsets import commit_tailer
from replicator.kafka.tail.tail_position import Portion
from tests.live.conftest import TopicMaker
from tests.live.copying import BEGIN, PATIENCE_SECONDS, copying, opening
from tests.live.hand_carried import HandCarried, Record


class WatchedRegion:
    """Another region that is asked by a sync: its survey, and its brokers' own commits.

    `surveyed` lists the groups of each survey, and `on_survey` is called after each. The brokers
    do not answer while `is_silent`.
    """

    def __init__(self, known: OtherRegion) -> None:
        self._known = known
        self.surveyed: list[frozenset[str]] = []
        self.on_survey: Callable[[], object] = lambda: None
        self.is_silent = False

    def knowledge(self, request: Request, now_ms: int) -> Knowledge:
        self.surveyed.append(request.groups)
        found = self._known.survey.knowledge(request, now_ms)
        self.on_survey()
        return found

    def commits(
        self, groups: Iterable[str], partitions: Iterable[TopicPartition]
    ) -> GroupProgress | None:
        return None if self.is_silent else self._known.own_commits.commits(groups, partitions)


class Scene:
    """A group that lives in west, and east's offset sync, run pass by pass."""

    def __init__(self, regions: HandCarried, partition: TopicPartition) -> None:
        self.regions, self.partition = regions, partition
        self.group = f"group-{uuid.uuid4().hex[:12]}"
        self.others: dict[str, WatchedRegion] = {}
        self.sync = OffsetSync(
            regions.appliance, regions.name["east"], others=self.other, rest_share=0.0
        )
        self.east = Groups("east", regions.settings("east"))
        self.now_ms = time.time_ns() // 1_000_000

    def other(self, name: str) -> OtherRegion:
        """Returns another region as the sync sees it, watched."""
        known = other_region(self.regions.appliance, name, self.regions.name["east"], 5.0)
        watched = self.others[name] = WatchedRegion(known)
        return replace(known, survey=watched, own_commits=watched)

    @property
    def west(self) -> WatchedRegion:
        return self.others[self.regions.name["west"]]

    def lives_in(self, region: str, generation: int = 1) -> None:
        named = self.regions.name[region]
        record = PrimaryRegion(self.group, named, generation, generation, "ann", "test")
        for name in self.regions.name:
            with PrimaryStore(self.regions.url(name)) as store:
                store.write([record])

    def commit(self, offset: int, vector: dict[str, int] | None = None, where="west") -> None:
        self.regions.commit(where, self.group, {self.partition: offset}, vector)

    def once(self, later_ms: int = 1) -> None:
        """Runs a pass."""
        self.now_ms += later_ms
        self.hear_own_decisions(self.now_ms)
        self.sync.once(self.now_ms)

    def hear_own_decisions(self, caught_up_ms: int) -> None:
        """Marks east's own decisions as caught up in its Redis, as its daemon always does."""
        heard = Portion(BEGIN, BEGIN, (), caught_up_ms)
        with PrimaryCopies(self.regions.url("east"), self.regions.name["east"]) as copies:
            copies.put(opening(0))
            copies.put({0: heard})

    def held(self) -> Progress | None:
        found = self.east.commits([self.group], [self.partition])[self.group].get(self.partition)
        if found is None:
            return None
        names = {full: name for name, full in self.regions.name.items()}
        vector = {names[region]: it for region, it in decode(found.metadata).items()}
        return Progress(found.offset, vector)


@pytest.fixture
def scene(regional: LabCluster, aggregate: LabCluster, redis, make_topic: TopicMaker) -> Scene:
    regions = HandCarried({"west": regional, "east": aggregate}, redis.url)
    partition = TopicPartition(make_topic(regional, aggregate), 0)
    regions.land("west", partition, ("west", 10), ("east", 5))
    regions.land("east", partition, ("east", 5), ("west", 10))
    for where in ("west", "east"):
        regions.publish(where)
    made = Scene(regions, partition)
    made.lives_in("west")
    return made


@pytest.mark.core
def test_a_position_follows_where_the_group_lives_on_and_back_again(scene):
    scene.commit(12)
    scene.once()
    assert scene.held() == Progress(2, {"west": 10, "east": 2})
    scene.commit(14)
    scene.once()
    assert scene.held() == Progress(4, {"west": 10, "east": 4})
    scene.commit(3)  # rewound
    scene.once()
    assert scene.held() == Progress(0, {"west": 3, "east": 0})
    assert (scene.sync.counts.groups, scene.sync.counts.written) == (1, 3)


def test_an_applications_metadata_arrives_as_it_is_and_the_vector_beside_it(scene):
    of_streams = "AgAAAZNy3kAAAAAA"
    scene.regions.commit_rows("west", [(scene.group, scene.partition, 12, of_streams)])
    scene.once()
    beside = f"sluice.vectors.{scene.group}"
    found = scene.east.commits([scene.group, beside], [scene.partition])
    assert found[scene.group] == {scene.partition: OffsetAndMetadata(2, of_streams)}
    west, east = scene.regions.name["west"], scene.regions.name["east"]
    assert found[beside][scene.partition].offset == 2
    assert decode(found[beside][scene.partition].metadata) == {west: 10, east: 2}
    scene.once()
    assert scene.sync.counts.written == 1
    # The next times at the same offset.
    scene.regions.commit_rows("west", [(scene.group, scene.partition, 12, "AgAAAZNy3kEAAAAA")])
    scene.once()
    found = scene.east.commits([scene.group], [scene.partition])
    assert found[scene.group] == {scene.partition: OffsetAndMetadata(2, "AgAAAZNy3kEAAAAA")}


def test_a_position_is_committed_again_before_the_brokers_forget_it(scene):
    scene.commit(12)
    scene.once()
    hour_ms = 3_600_000
    for later_ms, written in ((hour_ms, 1), (23 * hour_ms, 2), (hour_ms, 2), (21 * hour_ms, 3)):
        scene.once(later_ms)
        assert scene.sync.counts.written == written


def test_the_vector_of_the_groups_own_commit_is_kept(scene):
    scene.commit(8, {"west": 4, "east": 5})
    scene.once()
    assert scene.held() == Progress(13, {"west": 8, "east": 5})


@pytest.mark.parametrize("region", [pytest.param("east", marks=pytest.mark.core), None])
def test_a_group_is_never_written_where_it_lives_nor_if_it_lives_nowhere(scene, region):
    if region:
        scene.lives_in(region, generation=2)
    else:
        with Redis.from_url(scene.regions.url("east")) as client:
            client.delete("sluice:primary")
    scene.commit(12)
    scene.once()
    assert scene.held() is None
    assert scene.sync.counts.written == 0


def test_a_group_that_moves_here_in_the_middle_of_a_pass_is_left_alone(scene):
    scene.commit(12)
    scene.once()
    scene.commit(14)
    scene.west.on_survey = lambda: scene.lives_in("east", generation=2)
    scene.once()
    assert scene.held() == Progress(2, {"west": 10, "east": 2})


def test_while_it_has_members_here_nothing_is_written_and_afterwards_it_follows_again(
    scene, aggregate
):
    scene.commit(12)
    scene.once()
    options = {"group.id": scene.group, "enable.auto.commit": False}
    consumer = Consumer({**aggregate.librdkafka_options(), **options})
    try:
        consumer.subscribe([scene.partition.topic])
        assert until(lambda: bool(consumer.poll(0.1) or consumer.assignment()), PATIENCE_SECONDS)
        consumer.commit(offsets=[KafkaTopicPartition(*scene.partition, 15)], asynchronous=False)
        scene.commit(14)
        scene.once()
        assert scene.held() == Progress(15)
        # Once this region's daemon reports the members, the group is not even surveyed.
        with ActivityStore(scene.regions.url("east")) as store:
            store.publish(scene.regions.name["east"], [scene.group], scene.now_ms)
            scene.once()
            assert scene.sync.counts.active == 1
            store.publish(scene.regions.name["east"], [], scene.now_ms)
    finally:
        consumer.close()
    assert until(lambda: not scene.east.active([scene.group]), PATIENCE_SECONDS)
    scene.once()
    assert scene.held() == Progress(4, {"west": 10, "east": 4})


def test_records_that_have_not_arrived_are_awaited_and_then_passed(scene):
    scene.regions.land("west", scene.partition, ("west", 6))
    scene.regions.publish("west")
    scene.commit(21)
    scene.once()
    assert scene.held() == Progress(15, {"west": 16, "east": 5})
    scene.regions.land("east", scene.partition, ("west", 6), ("east", 1))
    scene.regions.publish("east")
    scene.once()
    assert scene.held() == Progress(21, {"west": 16, "east": 5})


def test_a_pass_surveys_only_groups_of_which_something_may_have_changed(scene):
    scene.commit(12)
    scene.once()
    looks = scene.west.surveyed
    looks.clear()
    scene.once()
    scene.once()
    assert looks == []
    scene.commit(15)  # at the end, so that new records matter
    scene.once()
    assert looks == [{scene.group}]
    scene.once(LATE_MS + 1)
    scene.once(LATE_MS + 1)
    assert len(looks) <= 3
    count = len(looks)
    scene.once(LATE_MS + 1)
    assert len(looks) == count
    scene.regions.land("east", scene.partition, ("east", 1))
    scene.once()
    assert len(looks) == count + 1


def test_unknown_positions_are_not_written_and_copies_of_unknown_age_are_not_used(scene):
    scene.commit(12)
    with Redis.from_url(scene.regions.url("east")) as client:
        runs = list(client.scan_iter("sluice:runs:*"))
        client.delete(*runs)
        scene.once()
        assert scene.held() is None
        client.delete(*client.scan_iter("sluice:read_age:commits:*"))
    scene.once()
    assert scene.held() is None


def test_while_its_own_decisions_are_not_surely_in_redis_nothing_is_written(scene):
    """The group has moved here. The flushed Redis knows only west's older decision."""
    scene.commit(12)
    scene.sync.once(scene.now_ms)
    assert (scene.held(), scene.sync.counts.groups) == (None, 0)
    scene.hear_own_decisions(scene.now_ms - DECISIONS_AGE_MS_MAX - 1)
    with pytest.raises(PassFailed, match="last known decisions of east"):
        scene.sync.once(scene.now_ms)
    assert scene.held() is None
    scene.once()
    assert scene.held() == Progress(2, {"west": 10, "east": 2})


def test_a_vector_too_large_for_a_broker_is_left_out_and_logged_once(scene, monkeypatch, caplog):
    monkeypatch.setattr("replicator.groups.progress.vector_metadata.BYTES_MAX", 30)
    with caplog.at_level(logging.WARNING):
        for offset in (12, 14):
            scene.commit(offset)
            scene.once()
    assert scene.held() == Progress(4, {})
    assert [line.split()[0] for line in caplog.messages] == ["event=vector-too-large"]
    written = scene.sync.counts.written
    scene.once(AGAIN_MS)
    assert scene.sync.counts.written == written


def test_an_aggregate_that_is_away_is_named(scene, redis):
    away = HandCarried({}, redis.url, away=["west", "east"])
    away.land("west", scene.partition, ("west", 10))
    away.publish("west")
    away.commit("west", "g", {scene.partition: 5})
    with PrimaryCopies(away.url("east"), away.name["east"]) as copies:
        copies.write([PrimaryRegion("g", away.name["west"], 1, 1, "ann", "test")])
        copies.put(opening(0))
        copies.put({0: Portion(BEGIN, BEGIN, (), time.time_ns() // 1_000_000)})
    sync = OffsetSync(away.appliance, away.name["east"], timeout_seconds=1.0)
    with pytest.raises(PassFailed, match=away.name["west"]):
        sync.once(time.time_ns() // 1_000_000)


# With a real copier, and a consumer that starts in east


def test_a_consumer_that_starts_here_skips_nothing(
    regional, aggregate, redis, make_topic: TopicMaker
):
    regions = HandCarried({"west": regional, "east": aggregate}, redis.url, copies_commits=False)
    partition = TopicPartition(make_topic(regional, aggregate), 0)
    regions.land("west", partition, ("west", 30), ("east", 20), ("west", 10))
    regions.land("east", partition, ("east", 20), ("west", 40))
    for where in ("west", "east"):
        regions.publish(where)
    scene = Scene(regions, partition)
    scene.lives_in("west")
    with CommitStore(regions.url("east"), regions.name["west"]) as store:
        follower = commit_tailer("west aggregate", regions.settings("west"))
        with copying(follower, store):
            read = _consumed(regional, scene.group, partition, 45)
            began = time.monotonic()

            def is_in_step() -> bool:
                scene.once()
                return scene.held() == Progress(15, {"west": 30, "east": 15})

            assert until(is_in_step, PATIENCE_SECONDS), scene.held()
            assert time.monotonic() - began < 30
    met = _consumed(aggregate, scene.group, partition, 45)
    everything = set(regions.log("east", partition))
    assert set(read) | set(met) == everything
    # Only records that east holds after the first unread one are repeated.
    assert set(read) & set(met) == {("west", at) for at in range(30)}


def _consumed(
    cluster: LabCluster, group: str, partition: TopicPartition, count: int
) -> list[Record]:
    """Reads and commits the application's next records."""
    consumer = Consumer(
        {
            **cluster.librdkafka_options(),
            "group.id": group,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    found: list[Record] = []
    try:
        consumer.subscribe([partition.topic])

        def is_done() -> bool:
            message = consumer.poll(0.2)
            if message and len(found) < count:
                assert message.error() is None
                origin, at = message.value().decode().split()
                found.append((origin, int(at)))
                if len(found) == count:
                    consumer.commit(message=message, asynchronous=False)
            return len(found) == count

        assert until(is_done, PATIENCE_SECONDS, 0.0), found
        return found
    finally:
        consumer.close()

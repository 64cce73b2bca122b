"""Tests of logs that are looked at again and again, from a cluster whose answers are values."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from uuid import UUID

import pytest

from aggregator.upsert.cluster_logs import SILENT_SECONDS, ClusterLogs, logs_behind
from aggregator.upsert.tick import Lane, LaneRange, Stop, Tick
from aggregator.upsert.tick_cut import LaneLog
from balancer.topic_partition import TopicPartition
from replicator.config.cluster_name import ClusterName
from replicator.kafka.admin.admin_connection import LogOffset
from replicator.kafka.admin.topic import Configs, Topic
from replicator.kafka.client.cluster import Answered, Forbidden
from replicator.kafka.client.cluster_metadata import Leader
from replicator.kafka.client.cluster_metadata import Topic as SeenTopic
from replicator.kafka.client.epoch_regress import LASTING_SECONDS, EpochRegress
from replicator.kafka.client.loss import Loss, LossKind
from replicator.kafka.protocol.error_codes import Code

ORDERS, ANEW = UUID(int=1), UUID(int=2)
WEST = ClusterName("west aggregate")
LANE = Lane(str(WEST), "orders", ORDERS, 0)


class Source:
    """Cluster with one partition: each epoch ends where the test says."""

    name = "west aggregate"

    def __init__(self) -> None:
        self.topic_id = self.topic_id_after_refresh = ORDERS
        self.ends: dict[int, int] = {}
        self.refusal: Exception | None = None
        self.asked: list[tuple[int, int]] = []
        self.epoch = 8

    def watch(self, topics):
        assert set(topics) == {"orders"}

    async def refresh(self):
        self.topic_id = self.topic_id_after_refresh

    try_refresh = refresh

    def topic(self, name):
        return SeenTopic(self.topic_id, {})

    def leader(self, topic, partition):
        return Leader(1, 7)

    def reported_leader(self, topic, partition):
        return Leader(1, self.epoch)

    async def leader_by_each(self, topic, partition):
        return [Leader(1, self.epoch)] * 2

    def accept_leader(self, topic, partition, leader):
        assert leader.epoch == self.epoch

    async def log_end(self, topic, partition):
        return 90

    async def epoch_end(self, topic, partition, epoch, *, of_leader):
        self.asked.append((epoch, of_leader))
        if self.refusal is not None:
            raise self.refusal
        return self.ends[epoch]


class PlayedAdmin:
    """Admin client that shows one partition."""

    def __init__(self, end: LogOffset | None) -> None:
        self.end = end

    def topics(self):
        return [Topic("orders", ORDERS, 1, Configs({}))]

    def offsets(self, places, which):
        return dict.fromkeys(places, 2)

    def ends(self, places):
        assert [*places] == [TopicPartition("orders", 0)]
        return {} if self.end is None else dict.fromkeys(places, self.end)


@pytest.fixture
def source():
    return Source()


@pytest.fixture
def clock():
    """Monotonic seconds, as the one item of a list."""
    return [100.0]


@pytest.fixture
def logs(source, clock):
    def takes(topic):
        return topic == "orders"

    admin = PlayedAdmin(LogOffset(150, 8))
    regress = EpochRegress(source, clock=lambda: clock[0])
    changed = asyncio.Event()
    logs = ClusterLogs(WEST, admin, source, regress, takes, 1.0, 1.0, changed, lambda: clock[0])
    logs.logs = logs.look()
    return logs


def tick(epoch=7, end=100, *stops):
    return Tick(1, 3, 0, (LANE,), (LaneRange(90, end),), stops=stops, epochs=(epoch,))


SEEN = LaneLog(2, 150, 8)


def test_a_look_shows_each_end_with_the_leader_epoch_in_which_it_was_told(logs):
    assert logs.logs == {LANE: SEEN}
    logs.admin.end = None
    assert logs.look() == {LANE: None}, "a partition without a leader"


async def test_while_the_leader_stays_nobody_is_asked(logs, source):
    assert await logs.behind(tick(epoch=8)) == {LANE: SEEN}
    assert await logs.behind(tick(epoch=-1)) == {LANE: SEEN}, "a tick of an earlier release"
    assert await logs.behind(Tick(1, 0, 0)) == {LANE: SEEN}
    assert source.asked == []


async def test_a_new_leader_is_asked_once_how_far_it_has_the_log_of_the_one_before(logs, source):
    source.ends[7] = 60
    for _ in range(3):
        assert await logs.behind(tick()) == {LANE: SEEN._replace(epoch_end=60)}
    assert source.asked == [(7, 8)]
    logs.logs = {LANE: SEEN._replace(epoch=9)}
    source.ends = {7: 55, 6: 50}
    assert (await logs.behind(tick()))[LANE].epoch_end == 55, "yet another leader"
    assert (await logs.behind(tick(epoch=6)))[LANE].epoch_end == 50


async def test_a_lane_whose_leader_does_not_tell_takes_nothing(logs, source):
    source.refusal = Answered("west", [Code.FENCED_LEADER_EPOCH])
    assert await logs.behind(tick()) == {LANE: None}
    source.refusal, source.ends[7] = None, 100
    assert await logs.behind(tick()) == {LANE: SEEN._replace(epoch_end=100)}


async def test_a_leader_that_says_nothing_holds_up_other_lanes_only_now_and_then(
    logs, source, clock
):
    source.refusal = TimeoutError()
    for _ in range(3):
        assert await logs.behind(tick()) == {LANE: None}
    assert source.asked == [(7, 8)]
    source.refusal, source.ends[7] = None, 100
    assert await logs.behind(tick()) == {LANE: None}
    clock[0] += SILENT_SECONDS
    assert await logs.behind(tick()) == {LANE: SEEN._replace(epoch_end=100)}


async def test_yet_another_leader_is_asked_although_the_one_before_said_nothing(logs, source):
    source.refusal = TimeoutError()
    assert await logs.behind(tick()) == {LANE: None}
    source.refusal, source.ends[7], logs.logs = None, 100, {LANE: SEEN._replace(epoch=9)}
    assert (await logs.behind(tick()))[LANE].epoch_end == 100


class MetCluster(SimpleNamespace):
    """Logs of a cluster that tells nothing before others are asked too."""

    async def behind(self, tick):
        await self.barrier.wait()
        return {tick.lanes[0]: None}


async def test_all_clusters_that_answer_are_asked_at_once():
    barrier = asyncio.Barrier(2)
    clusters = [MetCluster(name=at, is_answering=at != 1, barrier=barrier) for at in range(3)]
    async with asyncio.timeout(10):
        assert await logs_behind(clusters, tick()) == {"0": {LANE: None}, "2": {LANE: None}}


async def test_a_right_that_is_missing_is_told(logs, source):
    source.refusal = Forbidden("west", [Code.TOPIC_AUTHORIZATION_FAILED])
    with pytest.raises(Forbidden):
        await logs.behind(tick())


async def test_the_log_of_a_topic_that_was_created_anew_says_nothing_of_the_lane(logs, source):
    source.ends[7], source.topic_id_after_refresh = 0, ANEW
    assert await logs.behind(tick()) == {LANE: None}


@pytest.mark.parametrize("kind", [LossKind.RETENTION_PASSED, LossKind.SOURCE_WENT_BACK])
async def test_behind_a_loss_after_which_a_lane_goes_on_elsewhere_nobody_is_asked(
    logs, source, kind
):
    assert await logs.behind(tick(7, 100, Stop(0, Loss(kind, 100, 120)))) == {LANE: SEEN}
    assert source.asked == []
    source.ends[7] = 60
    stop = Stop(0, Loss(LossKind.SOURCE_TRUNCATED, 70, 100))
    assert (await logs.behind(tick(7, 100, stop)))[LANE].epoch_end == 60


async def test_older_epochs_are_believed_once_every_broker_has_reported_them_for_a_while(
    logs, source, clock
):
    source.epoch, logs.logs = 4, {LANE: SEEN._replace(epoch=4)}
    assert await logs.behind(tick()) == {LANE: None}, "a broker that was cut off, perhaps"
    clock[0] += LASTING_SECONDS
    went_back = (await logs.behind(tick()))[LANE].went_back
    assert went_back is not None
    assert (went_back.kind, went_back.begin, went_back.end) == (LossKind.SOURCE_WENT_BACK, 90, 100)
    assert source.asked == []

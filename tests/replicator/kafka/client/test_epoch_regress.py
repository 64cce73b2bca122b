"""Older leader epochs: a single broker that reports one is stale; all of them mean a restore."""

from dataclasses import dataclass
from uuid import UUID

import pytest

from balancer.topic_partition import TopicPartition
from replicator.kafka.client.cluster_metadata import Leader, Topic
from replicator.kafka.client.epoch_regress import (
    LASTING_SECONDS,
    EpochRegress,
    EpochReport,
    combined,
)
from replicator.kafka.client.loss import Loss, LossKind

NEWEST, OLDER = 5, 3
END, POSITION = 130, 200
TOPIC_ID, NEW_TOPIC_ID = UUID(int=1), UUID(int=2)
PLACE = TopicPartition("topic", 0)


class Source:
    """Source cluster whose answers are set by the test."""

    name = "west"

    def __init__(self) -> None:
        self.reported = self.known = Leader(1, NEWEST)
        self.each: list[Leader | None] = [self.known]
        self.topic_id = TOPIC_ID

    def topic(self, name):
        return Topic(self.topic_id, {})

    def leader(self, *_):
        return self.known

    def reported_leader(self, *_):
        return self.reported

    async def leader_by_each(self, *_):
        return self.each

    def accept_leader(self, topic, partition, leader):
        self.known = leader

    async def log_end(self, *_):
        return END


@pytest.fixture
def clock():
    """Monotonic seconds, as the one item of a list."""
    return [100.0]


@dataclass
class Pipeline:
    """Pipeline that has read a batch of an epoch, and everything before POSITION."""

    batch_epoch: int = NEWEST
    leader_epoch: int = NEWEST
    loss_to_park: Loss | None = None
    partition: TopicPartition = PLACE
    topic_id: UUID = TOPIC_ID
    position: int = POSITION


def restored() -> Source:
    source = Source()
    source.reported = Leader(1, OLDER)
    source.each = [Leader(1, OLDER), Leader(1, OLDER - 1)]
    return source


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([], EpochReport.UNKNOWN),
        ([None], EpochReport.UNKNOWN),
        ([Leader(1, OLDER), None], EpochReport.UNKNOWN),
        ([Leader(1, NEWEST)], EpochReport.NEWER),
        ([Leader(1, OLDER), Leader(2, NEWEST), None], EpochReport.NEWER),
        ([Leader(1, OLDER), Leader(2, OLDER + 1)], EpochReport.OLDER),
    ],
)
def test_brokers_agree_only_if_each_of_them_reports_an_older_epoch(answers, expected):
    assert combined(answers, NEWEST) is expected


async def test_reading_does_not_wait_for_a_known_epoch():
    assert not await EpochRegress(Source()).must_wait(Pipeline())


async def test_reading_does_not_wait_once_a_broker_reports_the_epoch_that_was_read():
    source, one = restored(), Pipeline()
    source.each = [Leader(1, OLDER), Leader(2, NEWEST)]
    assert not await EpochRegress(source).must_wait(one)


async def test_a_pipeline_stops_once_all_brokers_have_agreed_for_long_enough(clock):
    source, one = restored(), Pipeline()
    regress = EpochRegress(source, lambda: clock[0])
    assert await regress.must_wait(one)
    assert one.loss_to_park is None
    clock[0] += LASTING_SECONDS
    assert await regress.must_wait(one)
    loss = one.loss_to_park
    assert (loss.kind, loss.begin, loss.end) == (LossKind.SOURCE_WENT_BACK, END, POSITION)
    assert source.known == Leader(1, OLDER)


async def test_a_broker_that_does_not_answer_begins_the_wait_anew_and_is_logged_once(clock, caplog):
    source, one = restored(), Pipeline()
    regress = EpochRegress(source, lambda: clock[0])
    agreeing, silent = source.each, [Leader(1, OLDER), None]
    for _ in range(3):
        source.each = agreeing
        assert await regress.must_wait(one)
        clock[0] += LASTING_SECONDS
        source.each = silent
        assert await regress.must_wait(one)
    assert one.loss_to_park is None
    assert source.known == Leader(1, NEWEST)
    assert [each.getMessage().split()[0] for each in caplog.records] == ["event=source-went-back"]


async def test_a_pipeline_that_has_read_nothing_of_a_newer_epoch_goes_on(clock):
    source, one = restored(), Pipeline(batch_epoch=OLDER)
    regress = EpochRegress(source, lambda: clock[0])
    assert await regress.must_wait(one)
    clock[0] += LASTING_SECONDS
    assert await regress.must_wait(one)
    assert one.loss_to_park is None
    assert not await regress.must_wait(one)


async def test_a_topic_that_was_recreated_has_not_gone_back():
    """The epochs of a recreated topic begin again; the check of its log reports that."""
    source, one = restored(), Pipeline()
    source.topic_id = NEW_TOPIC_ID
    assert not await EpochRegress(source).must_wait(one)
    assert one.loss_to_park is None

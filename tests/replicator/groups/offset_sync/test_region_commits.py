"""A region that does not answer is not asked at each pass, and is named in the log."""

import logging

import pytest

from balancer.topic_partition import TopicPartition
from replicator.groups.offset_sync.region_commits import QUIET_SECONDS, RegionCommits
from replicator.groups.planning.knowledge import Progress
from replicator.kafka.admin.admin_error import AdminUnreachable
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata

ORDERS = TopicPartition("orders", 3)
FOUND = {"billing": {ORDERS: OffsetAndMetadata(7, '{"sluice":1,"vector":{"west":4}}')}}


class Silent:
    """Aggregate of west, and a clock: away until `answers` is set."""

    def __init__(self) -> None:
        self.answers = False
        self.asked = 0
        self.now = 0.0
        self.region = RegionCommits("west", self, lambda: self.now)

    def commits(self, *_: object) -> dict[str, dict[TopicPartition, OffsetAndMetadata]]:
        self.asked += 1
        if not self.answers:
            raise AdminUnreachable("west aggregate", "no answer")
        return FOUND

    def found(self) -> object:
        return self.region.commits(["billing"], [ORDERS])


@pytest.fixture
def silent():
    return Silent()


def test_a_region_that_does_not_answer_is_named_once_and_left_in_peace(silent, caplog):
    with caplog.at_level(logging.WARNING):
        assert [silent.found() for _ in range(100)] == [None] * 100
        assert silent.asked == 1
        silent.now = QUIET_SECONDS
        assert silent.found() is None
    assert silent.asked == 2
    assert [line.split()[:2] for line in caplog.messages] == [
        ["event=own-commits-unseen", "region=west"]
    ]


def test_its_first_answer_is_logged(silent, caplog):
    silent.found()
    caplog.clear()
    silent.now, silent.answers = QUIET_SECONDS, True
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            assert silent.found() == {"billing": {ORDERS: Progress(7, {"west": 4})}}
    assert [line.split()[0] for line in caplog.messages] == ["event=own-commits-seen"]

"""Only positions that are open are written, and only into logs that hold them."""

from dataclasses import replace

import pytest

from balancer.topic_partition import TopicPartition
from replicator.groups.failover.outcome import planned
from replicator.groups.failover.positions import Writable, missing, writable
from replicator.groups.planning.knowledge import LogRange
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata
from tests.replicator.groups.failover.test_outcome import GROUP, MOVE, PARTITION

OTHER = TopicPartition("trades", 7)
BOTH = replace(GROUP, moves=(MOVE, replace(MOVE, partition=7)))
WANTED = planned(BOTH)


def test_everything_that_differs_is_written_for_a_group_that_was_not_begun():
    assert missing(BOTH, {}, is_begun=False) == WANTED
    before = {PARTITION: OffsetAndMetadata(5000), OTHER: WANTED[OTHER]}
    assert missing(BOTH, before, is_begun=False) == {PARTITION: WANTED[PARTITION]}


def test_what_the_consumers_of_a_begun_group_have_committed_is_not_taken_back():
    before = {PARTITION: OffsetAndMetadata(5000)}
    assert missing(BOTH, before, is_begun=True) == {OTHER: WANTED[OTHER]}


def test_a_begun_group_with_a_commit_before_the_planned_one_is_left_alone():
    before = {PARTITION: OffsetAndMetadata(1150)}
    assert missing(BOTH, before, is_begun=True) == {}


def test_a_position_that_the_log_holds_is_written_as_planned():
    logs = dict.fromkeys(WANTED, LogRange(0, 1200))
    assert writable(WANTED, logs, "east") == Writable(WANTED)


@pytest.mark.parametrize("log", [None, LogRange(0, 1199)])
def test_nothing_is_written_where_one_log_does_not_hold_its_position(log):
    found = writable(WANTED, {PARTITION: LogRange(0, 2000), OTHER: log}, "east")
    assert found.positions == {}
    assert "east does not hold offset 1200 of trades-7" in found.obstacle


def test_a_position_that_retention_took_is_raised_to_the_logs_start():
    logs = {PARTITION: LogRange(1250, 2000), OTHER: LogRange(0, 2000)}
    found = writable(WANTED, logs, "east")
    assert found.positions[PARTITION] == OffsetAndMetadata(1250, WANTED[PARTITION].metadata)
    assert found.positions[OTHER] == WANTED[OTHER]
    assert "took up to 50 unread offsets" in found.remark

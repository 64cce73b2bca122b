"""Offset sync of a region's groups: when it plans, whom it asks, and what it leaves out."""

from __future__ import annotations

import logging

import pytest

from balancer.topic_partition import TopicPartition
from replicator.groups.offset_sync.due import (
    AGAIN_MS,
    LATE_MS,
    LastPlanned,
    Surroundings,
    commits_partition,
    commits_sign,
    is_due,
)
from replicator.groups.offset_sync.region_commits import QUIET_SECONDS, RegionCommits
from replicator.groups.offset_sync.vector_limit import VectorLimit
from replicator.groups.planning.failover_plan import Case, Move
from replicator.groups.planning.knowledge import Progress
from replicator.kafka.admin.admin_error import AdminUnreachable
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata

# -- Groups are planned again when something about them may have changed.

SETTLED = LastPlanned("sign", at_ms=1000, is_settled=True)
WAITING = LastPlanned("sign", at_ms=1000, is_settled=False)


def test_a_group_that_was_never_seen_or_has_committed_since_is_due():
    assert is_due(None, "sign", None, 1000)
    assert is_due(SETTLED, "another", None, 1001)
    assert is_due(SETTLED, None, None, 1001)
    assert not is_due(SETTLED, "sign", None, 1001)


def test_everything_is_looked_at_again_after_a_long_time():
    assert not is_due(SETTLED, "sign", None, 1000 + AGAIN_MS - 1)
    assert is_due(SETTLED, "sign", None, 1000 + AGAIN_MS)


def test_where_brokers_forget_positions_soon_groups_are_planned_sooner():
    assert not is_due(SETTLED, "sign", None, 1000 + 7_499, 7_500)
    assert is_due(SETTLED, "sign", None, 1000 + 7_500, 7_500)


def test_a_waiting_group_is_due_while_its_surroundings_change_and_for_a_while_after():
    surroundings = Surroundings("logs", 500)
    assert is_due(WAITING, "sign", surroundings, 2000)
    assert not is_due(SETTLED, "sign", surroundings, 2000)
    late = LastPlanned("sign", 500 + LATE_MS, is_settled=False)
    assert not is_due(late, "sign", surroundings, 500 + LATE_MS + 1)
    moved = surroundings.refreshed("other logs", 500 + LATE_MS + 2)
    assert is_due(late, "sign", moved, 500 + LATE_MS + 3)
    assert surroundings.refreshed("logs", 9_000) == surroundings


@pytest.mark.parametrize(
    # Results of Kafka 4.3.1's Utils.abs(group.hashCode()) % 50.
    ("group", "partition"),
    [
        ("", 0),
        ("orders", 31),
        ("group-1", 49),
        ("sluice.west.east.0", 1),
        ("grüße-😀-𝒳", 40),
        ("polygenelubricants", 0),
    ],
)
def test_a_groups_partition_is_the_one_that_brokers_choose(group, partition):
    assert commits_partition(group, 50) == partition


def test_where_vectors_stand_beside_commits_the_later_copy_of_either_is_a_sign():
    group, vectors = "streams-1", "sluice.vectors.streams-1"
    own, beside = commits_partition(group, 50), commits_partition(vectors, 50)
    assert own != beside
    positions = dict.fromkeys(range(50), 7)
    signs = commits_sign(group, positions, has_metadata=True)
    for changed in (own, beside):
        assert commits_sign(group, {**positions, changed: 8}, has_metadata=True) != signs
    without = commits_sign(group, positions, has_metadata=False)
    assert commits_sign(group, {**positions, beside: 8}, has_metadata=False) == without
    assert commits_sign(group, {}, has_metadata=True) is None


# -- A region that does not answer is not asked at each pass, and is named in the log.

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


# -- A vector that no broker takes is left out, which is logged once for each group.

LARGE = {f"region-{number}": 10**12 for number in range(300)}


def move(vector: dict[str, int]) -> Move:
    return Move(topic="trades", partition=3, case=Case.MOVES, committed=7, resume=5, vector=vector)


def test_a_vector_within_the_limit_stays():
    assert VectorLimit().applied("orders", move({"west": 4})) == move({"west": 4})


def test_a_vector_too_large_for_a_broker_is_left_out_and_logged_once_a_group(caplog):
    limit = VectorLimit()
    with caplog.at_level(logging.WARNING):
        for group in ("orders", "orders", "bills"):
            assert limit.applied(group, move(LARGE)) == move({})
    assert [line.split()[:3] for line in caplog.messages] == [
        ["event=vector-too-large", "group", "'orders'"],
        ["event=vector-too-large", "group", "'bills'"],
    ]

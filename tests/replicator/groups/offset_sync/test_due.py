"""Groups are planned again when something about them may have changed."""

from __future__ import annotations

import pytest

from replicator.groups.offset_sync.due import (
    AGAIN_MS,
    LATE_MS,
    LastPlanned,
    Surroundings,
    commits_partition,
    commits_sign,
    is_due,
)

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

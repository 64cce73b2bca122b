"""Groups are planned again when something about them may have changed."""

from __future__ import annotations

import pytest

from replicator.groups.offset_sync.due import (
    AGAIN_MS,
    LATE_MS,
    Around,
    Seen,
    commits_partition,
    is_due,
)

SEEN = Seen("sign", at_ms=1000, is_settled=True)
WAITING = Seen("sign", at_ms=1000, is_settled=False)


def test_a_group_that_was_never_seen_or_has_committed_since_is_due():
    assert is_due(None, "sign", None, 1000)
    assert is_due(SEEN, "another", None, 1001)
    assert is_due(SEEN, None, None, 1001)
    assert not is_due(SEEN, "sign", None, 1001)


def test_everything_is_looked_at_again_after_a_long_time():
    assert not is_due(SEEN, "sign", None, 1000 + AGAIN_MS - 1)
    assert is_due(SEEN, "sign", None, 1000 + AGAIN_MS)


def test_what_waits_is_due_while_something_moves_and_for_a_while_after_it():
    around = Around("logs", 500)
    assert is_due(WAITING, "sign", around, 2000)
    assert not is_due(SEEN, "sign", around, 2000)
    late = Seen("sign", 500 + LATE_MS, is_settled=False)
    assert not is_due(late, "sign", around, 500 + LATE_MS + 1)
    moved = around.now("other logs", 500 + LATE_MS + 2)
    assert is_due(late, "sign", moved, 500 + LATE_MS + 3)
    assert around.now("logs", 9_000) == around


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

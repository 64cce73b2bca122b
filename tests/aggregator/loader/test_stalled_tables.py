"""Stalled tables: told from slow ones, and from a store that stands still as a whole; and when what
was dropped of them is read again."""

import pytest

from aggregator.loader.stalled_tables import (
    PAUSE_SECONDS_MAX,
    SILENT_SECONDS,
    STALLED_SECONDS,
    StalledTables,
)
from balancer.topic_partition import TopicPartition

PLACE, OTHER = TopicPartition("t", 0), TopicPartition("t", 1)
LATE = STALLED_SECONDS + 1.0


def watched(*tables, stored=()):
    """Returns what is known of tables whose blocks began at 0, and of blocks stored since."""
    found = StalledTables()
    found.stored(PLACE, "b")
    for table in tables:
        found.begin(PLACE, table, 0.0)
    for place in stored:
        found.stored(place, "b")
    return found


@pytest.mark.parametrize(
    ("now", "stored", "stalled"),
    [
        (LATE, [PLACE], {"a"}),
        (STALLED_SECONDS, [PLACE], set()),
        (LATE, [], set()),
        (LATE, [OTHER], set()),
    ],
)
def test_a_table_stands_still_whose_block_takes_long_while_others_are_stored(now, stored, stalled):
    assert watched("a", stored=stored).stalled(PLACE, now) == stalled


def test_blocks_of_other_partitions_count_where_these_need_the_memory():
    assert watched("a", stored=[OTHER]).stalled(PLACE, LATE, others_wait=True) == {"a"}
    assert watched("a").stalled(PLACE, LATE, others_wait=True) == set()


def test_a_table_that_is_gone_or_refuses_needs_no_other_block_to_tell():
    found = watched("a")
    found.refused(PLACE, "a")
    assert found.stalled(PLACE, LATE) == {"a"}
    assert found.stalled(PLACE, STALLED_SECONDS) == set()


def test_partitions_are_looked_at_one_by_one():
    found = watched("a", stored=[PLACE])
    assert found.stalled(OTHER, LATE) == found.standing(OTHER, LATE) == set()


def test_a_block_moves_until_it_stands_still_or_has_ended():
    found = watched("a")
    assert found.standing(PLACE, STALLED_SECONDS) == set()
    assert found.standing(PLACE, LATE) == {"a"}
    found.end(PLACE, "a")
    found.refused(PLACE, "a")
    assert found.standing(PLACE, LATE) == set()


def test_a_block_that_nobody_could_recognize_stays_and_one_that_has_left_leaves_no_more():
    found = watched("a", "b", "c")
    found.must_stay(PLACE, "a")
    found.left(PLACE, "b", LATE, has_failed=True)
    found.refused(PLACE, "c")
    assert found.may_leave(PLACE, {"a", "b", "c"}, LATE) == {"c"}
    assert found.standing(PLACE, 0.0) == found.stalled(PLACE, 0.0) == {"b"}


def test_a_block_of_a_server_that_is_silent_leaves_later_than_one_that_is_refused():
    found = watched("a")
    assert found.may_leave(PLACE, {"a"}, SILENT_SECONDS) == set()
    assert found.may_leave(PLACE, {"a"}, SILENT_SECONDS + 1.0) == {"a"}


def test_a_table_that_takes_no_block_is_tried_more_and_more_rarely_until_one_is_stored():
    found = watched()
    pauses = []
    for at in range(9):
        found.left(PLACE, "a", at, has_failed=True)
        pauses.append(found.pause_seconds(PLACE, "a", at))
    assert pauses[:4] == [0.0, STALLED_SECONDS, 2 * STALLED_SECONDS, PAUSE_SECONDS_MAX]
    assert pauses[-1] == PAUSE_SECONDS_MAX
    found.left(PLACE, "a", 9.0, has_failed=False)
    assert found.pause_seconds(PLACE, "a", 9.0) == PAUSE_SECONDS_MAX - 1.0
    found.stored(PLACE, "a")
    assert found.pause_seconds(PLACE, "a", 9.0) == 0.0


def test_what_is_read_again_takes_a_partition_half_of_its_time_at_most():
    found = watched()
    assert found.may_read_again(PLACE, 0.0)
    found.begin_reading(PLACE, 10.0)
    assert not found.may_read_again(PLACE, 1000.0)
    assert (found.readings([PLACE, OTHER]), found.readings([OTHER])) == (1, 0)
    found.has_caught_up(PLACE, 30.0)
    found.has_caught_up(PLACE, 31.0)
    assert found.readings([PLACE]) == 0
    assert not found.may_read_again(PLACE, 49.0) and found.may_read_again(PLACE, 50.0)

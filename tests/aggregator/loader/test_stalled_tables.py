"""Stalled tables: told from slow ones, and from a store that stands still as a whole."""

import pytest

from aggregator.loader.stalled_tables import STALLED_SECONDS, StalledTables
from balancer.plan import TopicPartition

PLACE, OTHER = TopicPartition("t", 0), TopicPartition("t", 1)
LATE = STALLED_SECONDS + 1.0


def watched(*tables, loads=5):
    found = StalledTables()
    for table in tables:
        found.begin(PLACE, table, loads, 0.0)
    return found


@pytest.mark.parametrize(
    ("now", "loads", "stalled"),
    [(LATE, 6, {"a"}), (STALLED_SECONDS, 6, set()), (LATE, 5, set())],
)
def test_a_table_stands_still_whose_block_takes_long_while_others_are_stored(now, loads, stalled):
    assert watched("a").stalled(PLACE, ["a", "b"], loads, now) == stalled


def test_a_table_that_is_gone_needs_no_other_block_to_tell():
    found = watched("a")
    found.missing(PLACE, "a")
    assert found.stalled(PLACE, ["a", "b"], 5, LATE) == {"a"}
    assert found.stalled(PLACE, ["a", "b"], 5, STALLED_SECONDS) == set()


def test_where_all_tables_stand_still_the_store_does():
    found = watched("a", "b")
    assert found.stalled(PLACE, ["a", "b"], 6, LATE) == set()
    assert found.stalled(PLACE, ["a", "b", "c"], 6, LATE) == {"a", "b"}
    assert watched("a").stalled(PLACE, ["a"], 6, LATE) == set()


def test_partitions_are_looked_at_one_by_one():
    assert watched("a").stalled(OTHER, ["a", "b"], 6, LATE) == set()


def test_a_block_moves_until_it_stands_still_or_has_ended():
    found = watched("a")
    assert found.is_moving(PLACE, STALLED_SECONDS) and not found.is_moving(PLACE, LATE)
    found.end(PLACE, "a")
    found.missing(PLACE, "a")
    assert not found.is_moving(PLACE, 0.0)

"""Health of feeds: the worst word of their partitions, with the reason."""

from __future__ import annotations

from dataclasses import replace

import pytest

from replicator.notices.condition import Condition
from tests.tui.console.snapshots import NOW_MS, feed
from tui.facts.feed_health import feed_health, partition_health
from tui.facts.feed_status import BlockView
from tui.facts.health import Health

LOADED, STUCK = feed().partitions
WAITS = Condition(
    kind="loader-waits",
    who="loader 1 of ticks in west aggregate",
    text="no broker answers",
    since_ms=NOW_MS,
    feed="ticks",
    cluster="west aggregate",
)
OLD = BlockView(table="o", begin=1, end=5, records=4, age_seconds=400.0, window_used=0.7)


@pytest.mark.parametrize(
    ("partition", "state", "why"),
    [
        (LOADED, Health.OK, ""),
        (STUCK, Health.PARKED, "parked: a record is too large"),
        (replace(LOADED, frozen="by ann@ops: merge"), Health.PAUSED, "frozen by ann@ops: merge"),
        (replace(LOADED, mode=None), Health.UNKNOWN, "no loader has reported it lately"),
        (replace(LOADED, lag_records=None), Health.UNKNOWN, "its lag is not known"),
        (replace(LOADED, lag_records=0, lag_seconds=99.0), Health.OK, ""),
        (
            replace(LOADED, lag_records=None, lag_seconds=300.0),
            Health.BEHIND,
            "300 s behind: cause not known",
        ),
    ],
)
def test_a_partition_has_a_state_and_its_reason(partition, state, why):
    found = partition_health(partition, ())
    assert (found.state, found.why) == (state, why)


def test_a_partition_that_is_behind_says_what_its_figures_tell():
    late = replace(LOADED, lag_seconds=90.0)
    assert partition_health(late, ()).why == "90 s behind: cause not known"
    replay = partition_health(replace(late, mode="replay"), ())
    assert replay.why.endswith("the loader repeats the blocks of its predecessor")
    blocked = partition_health(replace(late, blocks=(OLD,)), ())
    assert blocked.why.endswith("a block has been on its way for 400 s")


def test_records_may_wait_in_open_objects_but_not_in_sealed_ones():
    opened = replace(LOADED, shard=None, lag_seconds=4000.0, open_objects=2, open_seconds=4000.0)
    assert partition_health(opened, ()).state is Health.OK
    assert partition_health(replace(opened, lag_records=None), ()).state is Health.UNKNOWN
    late = partition_health(replace(opened, blocks=(OLD,)), ())
    assert late.state is Health.BEHIND
    assert late.why == "an object has been sealed for 400 s, and is not complete"


def test_a_condition_makes_the_partitions_wait_that_it_names():
    assert partition_health(LOADED, [WAITS]).why == "loader-waits: no broker answers"
    elsewhere = replace(WAITS, cluster="east aggregate")
    assert partition_health(LOADED, [elsewhere]).state is Health.OK
    other = replace(WAITS, topic="orders", partition=1)
    assert partition_health(LOADED, [other]).state is Health.OK
    assert partition_health(LOADED, [replace(other, partition=0)]).state is Health.WAITS


def test_a_feed_is_as_bad_as_its_worst_partition():
    assert feed_health(feed()).state is Health.PARKED
    assert feed_health(replace(feed(), partitions=(LOADED,))).state is Health.OK


def test_a_cluster_that_is_unknown_makes_its_feed_unknown():
    found = feed_health(
        replace(feed(), unknown_clusters=("west aggregate",), problems=("no answer",))
    )
    assert found.state is Health.UNKNOWN
    assert found.why == "topics of west aggregate are not known; no answer"
    assert feed_health(replace(feed(), partitions=())).state is Health.UNKNOWN

from itertools import pairwise
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.demand.window import Window
from balancer.topic_partition import TopicPartition
from replicator.placement.traffic.growth import DENSITY_DEFAULT, densities, windows
from replicator.placement.traffic.log_snapshot import LogSnapshot, LogState

A, B, OTHER = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("other", 0)
ID, ANOTHER_ID = UUID(int=1), UUID(int=2)


def log(start, end, size_bytes=None, topic_id=ID, leader=1):
    return LogState(topic_id, leader, start, end, size_bytes)


def between(before, after, known=None):
    """Returns bytes and records of one partition between two looks a minute apart."""
    found = windows(LogSnapshot(0, {A: before}), LogSnapshot(60_000, {A: after}), known)
    return (found[A].bytes, found[A].records) if A in found else None


def test_a_window_is_what_came_to_the_log_from_one_look_to_the_other():
    before = LogSnapshot(1000, {A: log(0, 10, 100), B: log(0, 5, 50)})
    after = LogSnapshot(61_000, {A: log(0, 30, 700), OTHER: log(0, 5, 50)})
    assert windows(before, after) == {A: Window(1000, 61_000, 600, 20)}


def test_a_silent_log_took_in_nothing():
    assert between(log(0, 10, 100), log(0, 10, 100)) == (0, 0)
    assert between(log(0, 10), log(0, 10)) == (0, 0)
    assert between(log(0, 10, 1000), log(5, 10, 500)) == (0, 0)


def test_what_retention_deletes_is_no_traffic_and_hides_none():
    assert between(log(0, 100, 20_000), log(60, 110, 10_000)) == (2000, 10)
    assert between(log(0, 100, 20_000), log(100, 150, 10_000)) == (10_000, 50)


def test_records_deleted_in_the_middle_of_a_segment_do_not_make_those_left_look_large():
    """A hundred records are left in a log of a million bytes; ten new ones add two thousand
    bytes."""
    assert between(log(0, 10_000, 10**6), log(9_900, 10_010, 10**6 + 2000)) == (2000, 10)


def test_whole_segments_that_went_meanwhile_are_made_up_for_by_what_records_were_like_before():
    assert between(log(0, 100, 20_000), log(60, 200, 20_050), {A: 200.0}) == (20_000, 100)


def test_a_compacted_log_that_shrinks_took_in_its_records_by_density():
    assert between(log(0, 100, 9000), log(0, 120, 6000)) == (1000, 20)


@pytest.mark.parametrize("sizes", [(None, 6000), (6000, None)])
def test_a_size_that_only_one_look_knows_says_how_dense_records_are(sizes):
    before, after = (
        log(0, end, None if size_bytes is None else end * 50)
        for end, size_bytes in zip((100, 120), sizes, strict=True)
    )
    assert between(before, after) == (1000, 20)


def test_without_a_size_records_are_as_dense_as_those_of_the_topic_and_else_as_is_usual():
    before = LogSnapshot(0, {A: log(0, 10), B: log(0, 10, 1000), OTHER: log(0, 10)})
    after = LogSnapshot(1, {A: log(0, 20), B: log(0, 20, 2000), OTHER: log(0, 20)})
    found = windows(before, after)
    assert found[A].bytes == 10 * 100
    assert found[OTHER].bytes == 10 * DENSITY_DEFAULT


def test_another_brokers_size_of_the_same_log_is_no_growth():
    """The other broker had not compacted the log."""
    before, after = log(0, 100, 1000, leader=1), log(0, 110, 900_000, leader=2)
    assert between(before, after, {A: 10.0}) == (100, 10)


def test_a_recreated_topic_starts_over_even_where_it_is_longer():
    assert between(log(0, 10, 100), log(0, 500, 9000, topic_id=ANOTHER_ID)) is None


def test_a_log_that_was_cut_starts_over():
    assert between(log(0, 10, 100), log(0, 9, 90)) is None


def test_a_clock_that_did_not_go_on_measures_nothing():
    looks = (
        LogSnapshot(5, {A: log(0, 1, 10)}),
        LogSnapshot(5, {A: log(0, 9, 90)}),
        LogSnapshot(4, {A: log(0, 9, 90)}),
    )
    assert windows(looks[0], looks[1]) == windows(looks[0], looks[2]) == {}


# -- densities


def test_what_came_in_last_counts_for_half():
    before, after = LogSnapshot(0, {A: log(0, 10, 100)}), LogSnapshot(1, {A: log(0, 20, 400)})
    assert densities(before, after) == {A: 30.0}
    assert densities(before, after, {A: 10.0}) == {A: 20.0}


def test_what_retention_may_have_spoiled_does_not_change_what_is_known():
    before, after = LogSnapshot(0, {A: log(0, 10, 100)}), LogSnapshot(1, {A: log(5, 20, 101)})
    assert densities(before, after, {A: 10.0}) == {A: 10.0}


def test_a_silent_log_keeps_its_density_and_one_just_found_has_that_of_all_it_holds():
    look = LogSnapshot(0, {A: log(0, 10, 100), B: log(0, 10, 500)})
    assert densities(look, look, {A: 7.0}) == {A: 7.0, B: 50.0}


def test_what_is_known_outlives_a_look_without_sizes_and_not_its_topic():
    before, after = LogSnapshot(0, {A: log(0, 10)}), LogSnapshot(1, {A: log(0, 20)})
    known = {A: 7.0, B: 8.0, OTHER: 9.0}
    assert densities(before, after, known) == {A: 7.0, B: 8.0}
    assert windows(before, after, known)[A].bytes == 70


# -- properties

LOGS = st.builds(
    lambda start, length, size_bytes, topic, leader: log(
        start, start + length, size_bytes, UUID(int=topic), leader
    ),
    st.integers(0, 50),
    st.integers(0, 50),
    st.none() | st.integers(0, 5000),
    st.integers(1, 2),
    st.integers(1, 2),
)
LOOKS = st.dictionaries(st.sampled_from([A, B, OTHER]), LOGS)


@given(st.lists(LOOKS, min_size=2, max_size=6))
def test_whatever_is_seen_nothing_is_negative_and_no_growth_of_a_size_is_lost(seen):
    looks = [LogSnapshot(at * 1000, logs) for at, logs in enumerate(seen)]
    known = {}
    for before, after in pairwise(looks):
        known = densities(before, after, known)
        assert all(density > 0 for density in known.values())
        for place, window in windows(before, after, known).items():
            old, new = before.logs[place], after.logs[place]
            assert window.bytes >= 0  # Window also refuses negative values
            assert window.records == new.end - old.end >= 0
            if None not in (old.size_bytes, new.size_bytes) and old.leader == new.leader:
                grown = new.size_bytes - old.size_bytes
                assert window.bytes >= grown or (old.start != new.start and not window.records)

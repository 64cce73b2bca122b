"""Counters: each has one name, a meaning, and labels that none of its feed and cluster repeats."""

from __future__ import annotations

import re

from aggregator.loader import counters
from aggregator.loader.counters import COUNTERS, LOSS_KINDS, LoaderCounter, kind_label


def test_every_counter_is_exported_once():
    defined = {each for each in vars(counters).values() if isinstance(each, LoaderCounter)}
    assert defined == set(COUNTERS)
    assert len({each.name for each in COUNTERS}) == len(COUNTERS)


def test_names_are_those_of_feeds_and_end_without_the_suffix_that_prometheus_adds():
    for each in COUNTERS:
        assert re.fullmatch(r"sluice_feed_[a-z_]+", each.name)
        assert not each.name.endswith("_total")
        assert not {"feed", "cluster"} & set(each.labels)


def test_every_time_has_a_count_of_its_own():
    names = {each.name for each in COUNTERS}
    counts = {
        "sluice_feed_block_loading_seconds": "sluice_feed_blocks",
        "sluice_feed_commit_seconds": "sluice_feed_commits",
        "sluice_feed_object_completing_seconds": "sluice_feed_objects",
        "sluice_feed_quorum_wait_seconds": "sluice_feed_quorum_waits",
        "sluice_feed_row_lag_seconds": "sluice_feed_rows",
        "sluice_feed_takeover_seconds": "sluice_feed_takeovers",
    }
    assert {name for name in names if name.endswith("_seconds")} == counts.keys()
    assert set(counts.values()) <= names
    by_name = {each.name: each.labels for each in COUNTERS}
    assert all(by_name[time] == by_name[count] for time, count in counts.items())


def test_kinds_of_loss_are_words_of_a_label():
    assert {kind_label(kind) for kind in LOSS_KINDS} >= {"source_went_back", "block_doubtful"}

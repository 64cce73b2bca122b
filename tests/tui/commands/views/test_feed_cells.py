"""Cells of feeds: what is unknown in one partition is unknown in the sum."""

from __future__ import annotations

from dataclasses import replace

from tests.tui.console.snapshots import feed
from tui.commands.views.feed_cells import ages, counts, custody, mib, percent
from tui.facts.feed_status import BlockView

LOADED, STUCK = feed().partitions
OLD = BlockView(table="o", begin=1, end=5, records=4, age_seconds=400.0, window_used=0.7)


def test_words_are_counted_unless_one_is_unknown():
    assert counts(["held", "parked", "held"]) == "2 held, 1 parked"
    assert counts(["held", None]) is None


def test_the_oldest_block_counts_and_none_is_no_unknown_one():
    assert ages([LOADED]) == ("-", "-")
    assert ages([LOADED, replace(LOADED, blocks=(OLD,))]) == (400.0, "70%")
    assert ages([LOADED, replace(LOADED, blocks=None)]) == (None, None)


def test_a_frozen_partition_has_that_for_its_custody_unless_it_is_parked():
    assert custody(LOADED) == "held"
    assert custody(replace(LOADED, frozen="by ann")) == "frozen"
    assert custody(replace(STUCK, frozen="by ann")) == "parked"


def test_an_unknown_figure_has_no_cell():
    assert (mib(None), percent(None)) == (None, None)
    assert (mib(3 << 19), percent(0.256)) == (1.5, "26%")

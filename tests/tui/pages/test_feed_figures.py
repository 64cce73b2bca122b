"""Figures of feeds: what is unknown of one partition is unknown of them all."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.tui.console.snapshots import feed
from tests.tui.console.values.feeds import object_feed
from tui.facts.feed_status import BlockView
from tui.pages.feed import FIGURES
from tui.pages.feed_figures import AGE, BUFFERED, LAG, OPEN_SECONDS, PARKED, WINDOW, percent

LOADED, STUCK = feed().partitions
OLD = BlockView(table="o", begin=1, end=5, records=4, age_seconds=400.0, window_used=0.7)
WAITING = replace(LOADED, blocks=(OLD,))


def texts(group):
    return AGE.cell(group).full, WINDOW.cell(group).full


def test_the_oldest_block_counts_and_none_is_no_unknown_one():
    assert AGE.cell([LOADED]).text == WINDOW.cell([LOADED]).text == "-"
    assert texts([LOADED, WAITING]) == ("400.0", "70%")
    unknown = [LOADED, replace(LOADED, blocks=None)]
    assert AGE.cell(unknown).text == WINDOW.cell(unknown).text == "?"


def test_an_unknown_figure_is_no_number():
    unknown = BUFFERED.cell([LOADED, replace(LOADED, buffered_bytes=None)])
    assert (unknown.text, unknown.sort) == ("?", None)
    assert BUFFERED.cell([replace(LOADED, buffered_bytes=3 << 19)]).text == "1.5"


def test_the_screen_has_short_numbers_and_the_text_of_commands_exact_ones():
    cell = LAG.cell([replace(LOADED, lag_records=47_103), LOADED])
    assert (cell.text, cell.full, cell.sort) == ("47.3k", "47253", 47_253)


def test_parked_partitions_are_counted_and_coloured():
    assert (PARKED.cell([LOADED, STUCK]).text, PARKED.cell([STUCK]).tone) == ("1", "bad")
    assert PARKED.cell([LOADED]).tone == ""


def test_objects_have_an_age_while_one_is_open():
    opened, none = object_feed().partitions
    assert OPEN_SECONDS.cell([opened, none]).full == "300.0"
    assert OPEN_SECONDS.cell([none]).text == "-"


UNKNOWN = replace(LOADED, blocks=None, lag_records=None, mode=None, custody=None)


@pytest.mark.parametrize("figure", [PARKED, *FIGURES.values()], ids=["PARKED", *FIGURES])
@pytest.mark.parametrize("each", [LOADED, WAITING, STUCK, UNKNOWN, *object_feed().partitions])
def test_a_partition_sorts_as_its_cell_does(figure, each):
    assert figure.of(each) == figure.cell((each,)).sort


@pytest.mark.parametrize("figure", FIGURES.values(), ids=FIGURES)
def test_of_no_partitions_nothing_is_known(figure):
    assert (figure.cell(()).text, figure.cell(()).sort) == ("?", None)


@pytest.mark.parametrize(
    ("part", "text", "tone"),
    [(0.256, "26%", ""), (0.3, "30%", ""), (0.5, "50%", "warn"), (1.0, "100%", "bad")],
)
def test_a_part_of_a_window_gets_worse_as_it_passes(part, text, tone):
    cell = WINDOW.cell([replace(LOADED, blocks=(replace(OLD, window_used=part),))])
    assert (cell.text, cell.tone, percent(None)) == (text, tone, "?")

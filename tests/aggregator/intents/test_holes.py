"""Holes: counted as a set of offsets would count them, however the log is read in portions."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from aggregator.intents.holes import Holes

logs = st.lists(st.booleans(), max_size=60)
"""For each offset True if it holds a record."""


def portions(log, edges):
    """Yields (offsets of records, next offset) of the portions between the edges."""
    begin = 0
    for end in [*sorted(edge for edge in edges if edge <= len(log)), len(log)]:
        yield np.array([at for at in range(begin, end) if log[at]], np.int64), end
        begin = end


def naive(log, begin, end):
    return sum(not log[at] for at in range(begin, end))


@given(logs, st.lists(st.integers(0, 60), max_size=6), st.data())
def test_holes_are_counted_as_a_set_of_offsets_counts_them(log, edges, data):
    holes = Holes(0)
    asked = reference = 0
    for offsets, end in portions(log, edges):
        holes.add(offsets, end)
        asked = data.draw(st.integers(asked, end))
        assert holes.up_to(asked) == naive(log, reference, asked)
        if data.draw(st.booleans()):
            reference = asked
            holes.restart(reference)
            assert holes.up_to(reference) == 0


@given(logs, st.integers(0, 5))
def test_holes_before_the_offset_are_added_to_those_that_are_read(log, before):
    holes = Holes(0, before)
    for offsets, end in portions(log, [len(log) // 2]):
        holes.add(offsets, end)
    assert holes.up_to(len(log)) == before + naive(log, 0, len(log))


@given(logs)
def test_what_was_read_and_is_not_asked_for_yet_is_not_counted(log):
    holes = Holes(0)
    holes.add(np.flatnonzero(log), len(log))
    assert [holes.up_to(offset) for offset in range(len(log) + 1)] == [
        naive(log, 0, offset) for offset in range(len(log) + 1)
    ]


@given(logs, st.data())
def test_a_restart_inside_a_hole_keeps_the_rest_of_it(log, data):
    holes = Holes(0)
    holes.add(np.flatnonzero(log), len(log))
    reference = data.draw(st.integers(0, len(log)))
    holes.restart(reference)
    assert holes.up_to(len(log)) == naive(log, reference, len(log))


def test_holes_that_are_taken_back_are_those_that_were_noted_last():
    holes = Holes(0)
    holes.add(np.array([2, 6], np.int64), 10)
    assert holes.up_to(1) == 1
    holes.take_back(4)
    assert [holes.up_to(at) for at in (2, 6, 10)] == [2, 4, 4]
    holes.take_back(1)
    assert holes.up_to(10) == 3

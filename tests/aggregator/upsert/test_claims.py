"""Tests of claims and settle points."""

from __future__ import annotations

from aggregator.store.insert_errors import ErrorClass, InsertProblem
from aggregator.upsert.claims import TickRow, What, settle_point, ticks_block
from aggregator.upsert.repeatable_insert import Acknowledgements
from aggregator.upsert.upsert_schema import TICKS_COLUMNS


def settled(tick: int, *servers: str) -> TickRow:
    return TickRow(1, tick, What.SETTLED, tick * 1000, servers=servers)


POINTS = [settled(10, "a", "b"), settled(40, "b"), settled(70, "a", "b")]


def problem(*, may_be_stored: bool) -> InsertProblem:
    return InsertProblem(ErrorClass.SAME_AGAIN, 319, "", may_be_stored)


def test_the_settle_point_of_a_mark_is_the_newest_that_is_not_after_it():
    assert [settle_point(POINTS, tick) for tick in (9, 10, 69, 70, 99)] == [0, 10, 40, 70, 70]


def test_a_server_uses_only_settle_points_at_which_it_was_counted():
    assert settle_point(POINTS, 69, "a") == 10
    assert settle_point(POINTS, 69, "b") == 40
    assert settle_point(POINTS, 69, "new") == 0


def test_the_block_of_a_row_is_the_same_bytes_each_time():
    row = TickRow(1, 7, What.CLAIM, 1234, (5, 2**40), 10, 3, 1, 2, ("a", "b"))
    first, second = ticks_block(row), ticks_block(row)
    assert first.names == tuple(TICKS_COLUMNS)
    assert first.bytes_of(revision=0) == second.bytes_of(revision=0)
    assert ticks_block(row._replace(rows=11)).bytes_of(revision=0) != first.bytes_of(revision=0)


def test_the_first_insert_of_a_block_needs_one_acknowledgement():
    assert Acknowledgements(has_quorum=True, is_repeat=False, count=1).are_enough()


def test_a_repeat_may_be_acknowledged_before_its_quorum_so_it_needs_two():
    once = Acknowledgements(has_quorum=True, is_repeat=True, count=1)
    assert not once.are_enough()
    once.count += 1
    assert once.are_enough()
    assert Acknowledgements(has_quorum=False, is_repeat=True, count=1).are_enough()


def test_an_insert_that_may_have_been_stored_makes_the_next_one_a_repeat():
    found = Acknowledgements(has_quorum=True, is_repeat=False)
    found.failed(problem(may_be_stored=False))
    assert (found.is_repeat, found.count) == (False, 0)
    found.count = 1
    found.failed(problem(may_be_stored=True))
    assert (found.is_repeat, found.count) == (True, 0)

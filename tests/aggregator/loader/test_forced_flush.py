"""Forced flushes: one table that cannot be loaded makes the others wait for seconds at most."""

from __future__ import annotations

import pytest

from aggregator.loader.forced_flush import STANDSTILL_SECONDS, ForcedFlush
from tests.aggregator.loader.partition_life import Life, Log

INTERVAL = 60.0


@pytest.fixture
def life():
    """A partition of which two tables have a block in flight."""
    life = Life(Log(["a", "b"] * 20))
    life.begin()
    life.log.read(life.progress, 8, life.now)
    life.now += 10.0
    life.seal()
    life.commit()
    return life


@pytest.fixture
def flush(life):
    return ForcedFlush(life.now)


def keep(flush, life, seconds, is_stopping=False):
    life.now += seconds
    flush.keep(life.progress, life.now, INTERVAL, is_stopping=is_stopping)
    return life.progress.is_flushing


def test_a_flush_begins_when_it_is_due_or_nothing_more_is_read(flush, life):
    assert not keep(flush, life, INTERVAL - 1)
    assert keep(flush, life, 1)
    assert keep(ForcedFlush(life.now), life, 0, is_stopping=True)


def test_a_flush_that_stands_still_is_given_up_and_others_are_sealed_again(flush, life):
    keep(flush, life, INTERVAL)
    life.log.read(life.progress, 20, life.now)
    life.load(1)
    assert keep(flush, life, STANDSTILL_SECONDS)
    life.seal()
    assert not life.pending[1:], "records behind the flush wait"
    assert keep(flush, life, STANDSTILL_SECONDS)
    assert not keep(flush, life, 1)
    life.now += 10.0
    life.seal()
    assert [draft.table for draft in life.pending] == ["b", "a"]


def test_after_a_standstill_a_flush_begins_once_the_table_is_loaded(flush, life):
    keep(flush, life, INTERVAL)
    keep(flush, life, STANDSTILL_SECONDS + 1)
    assert not keep(flush, life, INTERVAL)
    life.load(2)
    assert keep(flush, life, 0)


def test_a_flush_goes_on_while_blocks_are_loaded_and_when_nothing_more_is_read(flush, life):
    keep(flush, life, INTERVAL)
    for _ in range(2):
        life.load(1)
        assert keep(flush, life, STANDSTILL_SECONDS + 1)
    assert life.progress.is_flushed
    assert keep(flush, life, STANDSTILL_SECONDS + 1)
    other = Life(Log(["a"] * 9))
    other.begin()
    other.log.read(other.progress, 9, other.now)
    keep(flush, other, 0, is_stopping=True)
    assert keep(flush, other, STANDSTILL_SECONDS + 1, is_stopping=True)

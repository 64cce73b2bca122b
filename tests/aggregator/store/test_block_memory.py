"""A table is trusted to recognize a block only if it surely remembers it, by ZooKeeper's order."""

from __future__ import annotations

import pytest

from aggregator.intents.table_range import KeeperMoment
from aggregator.store.block_memory import BlockMemory, HashList

LIST = HashList(table=10, zxid=500, made_s=1_000)
NEW_S, OLD_S = 1_100, 1_000_000


def reaches(memory: BlockMemory, moment: KeeperMoment | None) -> bool:
    return memory.reaches(moment, LIST, window=100, window_seconds=3600)


@pytest.mark.parametrize(
    ("oldest", "is_reached"),
    [(200, True), (300, True), (301, False)],
)
def test_a_full_memory_reaches_back_to_what_was_sent_behind_its_oldest_block(oldest, is_reached):
    assert reaches(BlockMemory(100, oldest, OLD_S), KeeperMoment(300, 10)) is is_reached


@pytest.mark.parametrize("moment", [None, KeeperMoment(10, 10), KeeperMoment(300, 10)])
def test_a_young_memory_that_is_not_full_has_forgotten_nothing(moment):
    assert reaches(BlockMemory(0, 0, 0), moment)
    assert reaches(BlockMemory(99, 301, NEW_S), moment)
    assert not reaches(BlockMemory(100, 301, NEW_S), moment)
    assert not reaches(BlockMemory(99, 301, OLD_S), moment)


@pytest.mark.parametrize("moment", [KeeperMoment(300, 11), KeeperMoment(501, 10)])
def test_a_moment_of_another_table_or_of_a_lost_zookeeper_proves_nothing(moment):
    assert not reaches(BlockMemory(5, 200, NEW_S), moment)

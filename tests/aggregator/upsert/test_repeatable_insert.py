"""Repeatable inserts tell of a store that takes no block, and of its end."""

from __future__ import annotations

from typing import Any

import pytest

from aggregator.store.insert_errors import ErrorClass, InsertProblem
from aggregator.store.shard_store import NotStored
from aggregator.upsert.claims import TickRow, What, ticks_block
from aggregator.upsert.repeatable_insert import RepeatableInserts

BLOCK = ticks_block(TickRow(1, 1, What.CLAIM, 0))
READ_ONLY = InsertProblem(ErrorClass.WAIT, 242, "read-only", False, leaves_replica=True)


class Refusing:
    """Store of three replicas that refuses a block some times."""

    quorum = 2
    replicas = (1, 2, 3)

    def __init__(self, refusals: int) -> None:
        self.left = refusals

    def insert_native(self, *_: object, **__: object) -> None:
        if self.left:
            self.left -= 1
            raise NotStored(READ_ONLY)


def told(refusals: int) -> list[InsertProblem | None]:
    """Returns what is told while a block is refused some times."""
    store: Any = Refusing(refusals)
    found: list[InsertProblem | None] = []
    RepeatableInserts(store, lambda seconds: None, found.append).insert("t__ticks", BLOCK, "name")
    return found


@pytest.mark.parametrize("refusals", [0, 1, 2])
def test_a_block_that_another_replica_takes_is_nothing_to_tell_of(refusals):
    assert told(refusals) == []


def test_a_block_that_no_replica_takes_is_told_of_until_it_is_stored():
    assert told(3) == [READ_ONLY, None]
    assert told(5) == [READ_ONLY] * 3 + [None]

"""Records sealed before a takeover: accounted once, however often they are read."""

from __future__ import annotations

import numpy as np
import pytest

from aggregator.intents.intent import Intent
from aggregator.intents.table_range import TableRange
from aggregator.loader.sealed_before import SealedBefore
from replicator.kafka.client.custody import Custody


def taken(count, **more):
    return SealedBefore(
        Intent(
            custody=Custody.HELD,
            offset=10,
            tables={"a": TableRange(10, 14, 4, "abcd", 5), "b": TableRange(16, 16)},
            reference=0,
            count=count,
            transactional_id="loader",
            **more,
        )
    )


def offsets(*found):
    return np.array(found, np.int64)


def test_records_that_the_count_has_are_no_holes_when_they_are_read_again():
    sealed = taken(10 + 5)
    read = offsets(10, 11, 12, 13, 14, 15)
    assert sealed.left_to_count(read, [read[:4], read[5:]]).tolist() == read.tolist()
    assert sealed.vanished(16) == 0


def test_those_that_are_gone_are_named_once_when_all_have_been_read():
    sealed = taken(10 + 5)
    read = offsets(10, 13)
    assert sealed.left_to_count(read, [read]).tolist() == [10, 13]
    assert [sealed.vanished(at) for at in (14, 16, 20)] == [0, 3, 0]


@pytest.mark.parametrize("by_table", [1, 2])
def test_records_that_the_count_lacks_are_like_holes(by_table):
    sealed = taken(10 + 1)
    read = offsets(10, 11, 12, 15)
    again = [read[:1], read[1:3]] if by_table == 2 else [read[:3]]
    assert sealed.left_to_count(read, again).tolist() == [10, 15]


def test_behind_a_forced_flush_nothing_was_sealed():
    sealed = taken(10, up_to=10)
    read = offsets(10, 11)
    assert sealed.left_to_count(read, []).tolist() == [10, 11]
    assert sealed.vanished(16) == 0

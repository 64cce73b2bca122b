"""Tests of a tick's dead letters."""

from __future__ import annotations

from typing import Any

from aggregator.loader.dead_letters import dead_letters, letter_place
from aggregator.tables.decoded import DeadRecord
from aggregator.upsert.facts import LaneNote
from aggregator.upsert.letters import GONE, letters_of
from aggregator.upsert.range_reader import RangeReader
from aggregator.upsert.tick import Lane, LaneRange, Tick
from balancer.topic_partition import TopicPartition
from tests.aggregator.upsert.played_brokers import ORDERS, Log, batch, brokers
from tests.aggregator.upsert.tick_records import records

LANES = tuple(Lane("west regional", "orders", ORDERS, number) for number in range(2))


async def letters(notes, **logs):
    tick = Tick(1, 7, 0, LANES, (LaneRange(0, 10), LaneRange(0, 10)), epochs=(5, 5))
    cluster: Any = brokers(**logs)
    reader = RangeReader({cluster.name: cluster}, patience_seconds=0.2)
    return [
        each async for some in letters_of(reader, "shop", "orders", tick, notes) for each in some
    ]


async def test_letters_are_those_of_a_loader_for_the_same_records():
    notes = [LaneNote(0), LaneNote(1, letters=((2, "bad"), (5, "worse")))]
    log = Log.of(batch(*range(4)), batch(*range(4, 8)), stable=10)
    found = await letters(notes, orders1=log)
    part = records(1, 0, *[b"v" * 10] * 8, times=[1000 + at for at in range(8)])
    dead = [DeadRecord(2, "bad"), DeadRecord(5, "worse")]
    place = TopicPartition("orders", 1)
    assert found == dead_letters("shop", place, "west regional", "orders", [part.records], dead)


async def test_the_letter_of_a_record_that_is_gone_has_its_place_and_reason():
    compacted = Log.of(batch(4, base=0, end=10), stable=10)
    deleted = Log.of(batch(8, 9), start=8, stable=10)
    notes = [LaneNote(0, letters=((3, "bad"), (4, "bad"))), LaneNote(1, letters=((5, "worse"),))]
    found = await letters(notes, orders0=compacted, orders1=deleted)
    places = {letter_place(each.headers): each for each in found}
    assert sorted((at.partition.partition, at.offset) for at in places if at) == [
        (0, 3),
        (0, 4),
        (1, 5),
    ]
    assert [each.value is None for each in found] == [False, True, True]
    assert all(
        (GONE.encode() in dict(each.headers)["sluice.reason"]) is (each.value is None)
        for each in found
    )


async def test_a_record_in_the_place_of_a_lost_one_is_no_dead_letter():
    regrown = Log.of(batch(*range(4), epoch=5), batch(*range(4, 10), epoch=6), stable=10)
    found = await letters([LaneNote(0, letters=((2, "bad"), (5, "worse")))], orders0=regrown)
    assert [each.value is None for each in found] == [True, True]

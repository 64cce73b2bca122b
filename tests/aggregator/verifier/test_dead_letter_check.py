"""Dead letters are compared with their records, field by field, also where they were cut."""

from __future__ import annotations

import asyncio
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.formats.record_fields import split
from aggregator.loader.dead_letters import dead_letters
from aggregator.loader.produced import Limits, fitted, packed
from aggregator.tables.decoded import DeadRecord
from aggregator.verifier.dead_letter_check import (
    Letters,
    compared,
    letter_fields,
    read_letters,
    record_fields,
    uncounted,
)
from balancer.topic_partition import TopicPartition
from replicator.batches.records import opened
from tests.aggregator.loader.letters import NOW_MS, PLACE, sliced
from tests.aggregator.loader.test_dead_letters import RECORDS


def letters_of(part, batch_bytes=1 << 24):
    dead = [DeadRecord(offset, "bad") for offset in part.offset.tolist()]
    made = dead_letters("lake", PLACE, "east", "t", [part], dead)
    return [fitted(each, batch_bytes) for each in made]


def told(letters):
    found = Letters()
    for each in letters:
        place, offset, fields = letter_fields(each.key, each.value, each.headers)
        found.add(place, offset, fields)
    return found


@given(RECORDS, st.sampled_from([4096, 9000, 1 << 24]))
def test_letters_are_of_their_records_whole_or_cut(records, batch_bytes):
    part = sliced(records)
    fields = {int(part.offset[at]): record_fields(part, at) for at in range(len(part))}
    found = compared(told(letters_of(part, batch_bytes)), PLACE, fields)
    assert found == (0, 0, 0, ())


CHANGES = {
    "a key": lambda it: {"key": b"other"},
    "a key that is null": lambda it: {"key": None},
    "a value": lambda it: {"value": it.value + b" "},
    "a header's value": lambda it: {"headers": (("h", b"y"), *it.headers[1:])},
    "a header that is null": lambda it: {"headers": (("h", None), *it.headers[1:])},
    "a header's name": lambda it: {"headers": (("g", b"x"), *it.headers[1:])},
    "a header too few": lambda it: {"headers": it.headers[1:]},
    "another time": lambda it: {
        "headers": (*(h for h in it.headers if h[0] != "sluice.timestamp"),
                    ("sluice.timestamp", b"6"))
    },
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_another_field_is_noticed(change):
    part = sliced([(b"k", b"v", ((b"h", b"x"),), 5)])
    (letter,) = letters_of(part)
    for name, value in change(letter).items():
        object.__setattr__(letter, name, value)
    found = compared(told([letter]), PLACE, {10: record_fields(part, 0)})
    assert found.changed == 1
    assert found.examples == ("changed among the dead letters: partition 5, offsets 10",)


def test_letters_of_letters_and_of_older_versions_are_read():
    part = sliced([(b"k", b"v", ((b"sluice.cluster", b"west"), (b"sluice.offset", b"3")), 5)])
    (letter,) = letters_of(part)
    older = tuple(each for each in letter.headers if each[0] != "sluice.timestamp")
    for headers in (letter.headers, older):
        place, offset, fields = letter_fields(letter.key, letter.value, headers)
        assert (place, offset) == (PLACE, 10)
        assert fields.is_of(record_fields(part, 0))
    assert letter_fields(b"k", b"v", (("sluice.offset", b"3"),)) is None


def test_missing_and_doubled_letters_are_named():
    part = sliced([(None, b"v", (), 5)] * 4)
    fields = {offset: record_fields(part, offset - 10) for offset in range(10, 14)}
    one, two, _, four = letters_of(part)
    found = compared(told([one, two, two, four]), PLACE, {**fields, 13: None})
    assert (found.missing, found.doubled, found.changed) == (1, 1, 0)
    assert found.examples == (
        "missing among the dead letters: partition 5, offsets 12",
        "doubled among the dead letters: partition 5, offsets 11",
    )


def test_letters_that_an_intent_counts_are_missed():
    letters = told(letters_of(sliced([(None, b"v", (), 5)] * 4)))
    counts = [uncounted(letters, PLACE, number) for number in (0, 4, 7)]
    assert counts == [0, 0, 3]
    assert uncounted(letters, TopicPartition("other", 0), 2) == 2
    assert letters.offsets(PLACE, 11, 13).tolist() == [11, 12]


def test_all_letters_of_the_topic_are_read():
    part = sliced([(None, b"v", ((b"h", b"x" * 100),), 5)] * 4)
    batch = packed(letters_of(part), 0, Limits(), NOW_MS)
    produced = split(opened(bytes(batch.data), [0]))

    class Records:
        async def slices(self, topic, partition, begin, end):
            if partition == 1:
                yield produced.at(np.arange(0, 2))
                yield produced.at(slice(2, None))

    class Cluster(SimpleNamespace):
        async def log_start(self, topic, partition):
            return self.starts[partition]

    async def read(starts, is_there=True):
        cluster = Cluster(topic=lambda _: is_there or None, starts=starts)
        return await read_letters(cluster, Records(), "lake")

    found = asyncio.run(read([0, 0, 0, 0]))
    assert (found.count(PLACE), found.is_whole) == (4, True)
    assert not asyncio.run(read([0, 0, 7, 0])).is_whole
    assert asyncio.run(read([0] * 4, is_there=False)).count(PLACE) == 0


def test_a_letter_takes_less_than_400_bytes_of_memory_whatever_it_holds():
    """All letters of a feed are in memory, a million of them too."""
    count, found = 2000, Letters()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for number in range(count):
            added = {
                "cluster": b"east aggregate",
                "topic": PLACE.topic.encode(),
                "partition": b"3",
                "offset": str(10**7 + number).encode(),
                "timestamp": str(1_700_000_000_000 + number).encode(),
            }
            headers = tuple((f"sluice.{name}", text) for name, text in added.items())
            value = str(number).encode() * 100
            letter = letter_fields(value, value, (("trace", value), *headers))
            assert letter is not None
            found.add(*letter)
        taken = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert found.count(TopicPartition(PLACE.topic, 3)) == count
    assert taken / count < 400

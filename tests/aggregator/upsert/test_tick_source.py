"""Source of ticks: one tick per batch, a bootstrap first, and nothing that is not posted."""

import os
import pickle
import time
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest

from aggregator.upsert.column_fold import from_bytes, joined, pack, sorted_facts
from aggregator.upsert.facts import FACTS, LaneNote, note_batch
from aggregator.upsert.tick import Tick
from aggregator.upsert.tick_posting import (
    TickPosting,
    TickPostingFile,
    UnknownTick,
    WatchedPosting,
)
from aggregator.upsert.tick_source import (
    FactPartition,
    initial_offset,
    next_offset,
    partitions_between,
    spark_rows,
)


@dataclass
class NamedTasks:
    """Reader whose tasks say what they read."""

    def tick_tasks(self, posting, tick):
        return [(tick.number, "claimed" if tick.number <= posting.claimed else "new")]

    def bootstrap_tasks(self, generation, tick):
        return [(generation, tick, "store")]

    def read(self, task, *, is_first_attempt):
        raise NotImplementedError


def posting(begin: int, claimed: int, *numbers: int, generation: int = 3) -> TickPosting:
    ticks = tuple(Tick(generation, number, time_ms=0) for number in numbers)
    return TickPosting(generation, begin, claimed, ticks)


def batches(posted: TickPosting, start: dict) -> list[dict]:
    """Returns the offsets behind all batches that there are to do."""
    found = []
    while (after := next_offset(posted, start)) != start:
        found.append(start := after)
    return found


def test_a_new_checkpoint_begins_with_a_bootstrap_and_goes_on_tick_by_tick():
    posted = posting(7, 7, 8, 9)
    assert batches(posted, initial_offset(posted)) == [
        {"generation": 3, "tick": 7, "bootstrap": True},
        {"generation": 3, "tick": 8, "bootstrap": False},
        {"generation": 3, "tick": 9, "bootstrap": False},
    ]


def test_nothing_is_to_do_before_the_first_posting_or_while_no_tick_is_newer():
    start = {"generation": 3, "tick": 7, "bootstrap": True}
    assert next_offset(None, start) == start
    assert batches(posting(7, 7), start) == []
    assert batches(posting(0, 7, 6, 7), start) == []


@pytest.mark.parametrize(
    ("start", "text"),
    [
        ({"generation": 2, "tick": 7}, "checkpoint is of generation 2, ticks of 3"),
        ({"generation": 3, "tick": 10}, "holds tick 10, and the newest tick is 9"),
        ({"generation": 3, "tick": 5}, "tick 6 is not posted; those that are: 8 to 9"),
    ],
)
def test_a_checkpoint_of_other_ticks_stops(start, text):
    with pytest.raises(UnknownTick, match=text):
        next_offset(posting(0, 8, 8, 9), {**start, "bootstrap": False})


def test_the_tasks_of_a_batch_are_those_of_its_end():
    posted, start = posting(7, 8, 8, 9), {"generation": 3, "tick": -1, "bootstrap": False}
    found = []
    for end in batches(posted, start):
        parts = partitions_between(posted, NamedTasks(), start, end, 2)
        found += [(each.task, each.tick, each.is_bootstrap) for each in parts]
        assert partitions_between(posted, NamedTasks(), end, end, 2) == []
        start = end
    assert found == [
        ((3, 7, "store"), 7, True),
        ((8, "claimed"), 8, False),
        ((9, "new"), 9, False),
    ]


def test_a_bootstrap_at_tick_0_reads_nothing():
    end = {"generation": 3, "tick": 0, "bootstrap": True}
    assert partitions_between(posting(0, 0), NamedTasks(), {}, end, 2) == []


@pytest.mark.parametrize("posted", [None, posting(0, 0, 4), posting(0, 8, 8, 9, generation=4)])
def test_a_batch_that_was_planned_and_is_not_posted_any_more_stops(posted):
    end = {"generation": 3, "tick": 8, "bootstrap": False}
    with pytest.raises(UnknownTick, match="tick 8"):
        partitions_between(posted, NamedTasks(), {}, end, 2)


def facts(count: int) -> pa.RecordBatch:
    rows = [
        {
            "key": (number * 37).to_bytes(2, "big") * 8,
            "order": -number,
            "lane": number % 3,
            "offset": number,
            "row": 0,
            "row_id": number,
            "is_delete": False,
            "note": None,
        }
        for number in range(count)
    ]
    return pa.RecordBatch.from_pylist(rows, schema=FACTS)


def test_each_fact_goes_to_the_part_of_its_key_and_notes_go_along():
    batch = pa.concat_batches([facts(100), note_batch(5, [LaneNote(1, 7), LaneNote(2)])])
    partition = FactPartition(NamedTasks(), None, 5, is_bootstrap=False, parts=3)
    (rows,) = spark_rows(batch, partition)
    assert set(rows["tick"].to_pylist()) == {5}
    assert [each for each in rows["note"].to_pylist() if each] == batch["note"].to_pylist()[100:]
    parts = [
        (part, from_bytes(content))
        for part, content in zip(rows["part"].to_pylist(), rows["facts"].to_pylist(), strict=True)
        if content
    ]
    assert [part for part, _ in parts] == [0, 1, 2]
    together = sorted_facts(joined([content for _, content in parts]))
    assert (together == sorted_facts(pack(facts(100)))).all()
    alone = FactPartition(NamedTasks(), None, 5, is_bootstrap=False, parts=3)
    for part, content in parts:
        for key in content["key"][:5]:
            one = facts(100).filter(
                pa.array(
                    [bytes(key).ljust(16, b"\0") == each for each in facts(100)["key"].to_pylist()]
                )
            )
            (row,) = spark_rows(one, alone)
            assert row["part"].to_pylist() == [part]


def test_a_batch_without_facts_is_no_row():
    partition = FactPartition(NamedTasks(), None, 5, is_bootstrap=False, parts=3)
    assert list(spark_rows(facts(0), partition)) == []


def test_a_posting_is_read_again_once_it_is_replaced(tmp_path: Path):
    file = TickPostingFile(tmp_path / "posting")
    watched = WatchedPosting(file)
    assert watched.read() is None
    for claimed in range(20):
        posted = posting(0, claimed, claimed + 1)
        file.write(posted)
        assert watched.read() == posted


def test_a_posting_that_stays_is_read_once(tmp_path: Path):
    file = TickPostingFile(tmp_path / "posting")
    file.write(posting(0, 0))
    an_hour_ago = time.time() - 3600
    os.utime(file.path, (an_hour_ago, an_hour_ago))
    watched = WatchedPosting(file)
    assert watched.read() is watched.read()


def test_the_reader_stands_beside_the_posting(tmp_path: Path):
    file = TickPostingFile(tmp_path / "posting")
    file.write_reader(NamedTasks())
    file.write(posting(0, 0))
    assert file.read_reader() == NamedTasks()
    assert pickle.loads(file.path.read_bytes()) == posting(0, 0)

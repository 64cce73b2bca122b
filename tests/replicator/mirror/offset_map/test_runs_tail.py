"""Tail of a runs topic: read once, continued where reading ended, whatever messages lie in it."""

from __future__ import annotations

import asyncio
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.config.topology import KafkaCluster
from replicator.kafka.client.cluster import Answered, Cluster
from replicator.kafka.client.cluster_metadata import Leader, Topic
from replicator.kafka.protocol.error_codes import Code
from replicator.mirror.offset_map.packed_map import pack, pack_segment
from replicator.mirror.offset_map.run_segment import Run, RunSegment
from replicator.mirror.offset_map.runs_tail import LastRun, RunsTail, _span
from replicator.mirror.offset_map.runs_topic import RunsKey, encode
from tests.replicator.batches.source_batches import Record, encoded
from tests.replicator.mirror.offset_map.told_logs import learned

ONE, OTHER = (RunsKey("flights", number, "a" * 32, "b" * 32) for number in range(2))
TOPIC = "sluice.runs.west.east"


class Log(Cluster):
    """Runs topic whose partitions are lists of messages, two to a batch."""

    def __init__(self, partitions: int, codec: int = 3) -> None:
        super().__init__("log", KafkaCluster.model_validate({"bootstrap": ["127.0.0.1:1"]}))
        self._runs: Topic | None
        self._runs = Topic(UUID(int=1), dict.fromkeys(range(partitions), Leader(1, 0)))
        self.messages: list[list[tuple[bytes, bytes]]] = [[] for _ in range(partitions)]
        self.asked: list[tuple[int, int]] = []
        self.starts = [0] * partitions
        self._codec = codec
        self.left = -1
        """Answers left until an attempt is cut short; below zero: it is not cut short."""

    def publish(self, number: int, key: RunsKey, *runs: Run) -> None:
        end = runs[-1].source_offset + runs[-1].records if runs else 7
        self.messages[number].append(encode(key, RunSegment(0, end, runs)))

    def pass_over(self, number: int, key: RunsKey, begin: int, end: int) -> None:
        """Publishes a segment without a record."""
        self.messages[number].append(encode(key, RunSegment(begin, end, ())))

    def topic(self, name: str) -> Topic | None:
        return self._runs if name == TOPIC else None

    def delete(self) -> None:
        self._runs = None

    def recreate(self) -> None:
        """Deletes the topic, and creates an empty one with as many partitions."""
        assert self._runs
        self._runs = Topic(UUID(int=self._runs.id.int + 1), self._runs.leaders)
        self.messages = [[] for _ in self.messages]

    async def log_start(self, topic, partition):
        return self.starts[partition]

    async def log_end(self, topic, partition):
        assert topic == TOPIC
        return len(self.messages[partition])

    async def read(self, topic, partition, offset, bytes_max):
        self.asked.append((partition, offset))
        if offset < self.starts[partition]:
            raise Answered("Fetch", [Code.OFFSET_OUT_OF_RANGE])
        if self.left == 0:
            raise asyncio.CancelledError
        self.left -= 1
        begin = offset - offset % 2  # a fetch begins with the whole batch that holds its offset
        pair = list(enumerate(self.messages[partition]))[begin : begin + 2]
        return encoded([Record(at, 0, *message) for at, message in pair], codec=self._codec)


@pytest.mark.parametrize("codec", [0, 3])
async def test_the_last_run_of_each_key_is_found_in_any_partition(codec):
    log = Log(2, codec)
    log.publish(0, ONE, Run(0, 10, 5))
    log.publish(0, ONE, Run(5, 20, 5), Run(12, 30, 3))
    log.publish(0, ONE, Run(2, 12, 3))  # published again
    log.publish(1, OTHER, Run(100, 7, 1))
    log.publish(1, OTHER)  # offsets passed over, without a record
    tail = RunsTail(log, "west.east")
    found = await tail.published_since((0, 0))
    assert found == {ONE: LastRun(15, 33), OTHER: LastRun(101, 8)}
    assert tail.positions == (3, 2)


async def test_offsets_left_out_behind_the_last_run_are_counted():
    log = Log(1)
    log.publish(0, ONE, Run(0, 10, 5))
    log.pass_over(0, ONE, 5, 8)
    log.pass_over(0, OTHER, 0, 3)
    tail = RunsTail(log, "west.east")
    assert await tail.published_since((0,)) == {ONE: LastRun(5, 15, left_out=3)}
    log.publish(0, OTHER, Run(2, 0, 1))
    log.publish(0, ONE, Run(9, 15, 2))
    assert await tail.published_since((0,)) == {ONE: LastRun(11, 17), OTHER: LastRun(3, 1)}


async def test_offsets_that_a_later_segment_has_records_of_are_not_left_out():
    log = Log(1)
    log.publish(0, ONE, Run(0, 10, 5))
    log.pass_over(0, ONE, 5, 12)
    log.publish(0, ONE, Run(5, 16, 2))
    log.pass_over(0, ONE, 7, 8)
    log.pass_over(0, ONE, 8, 9)
    tail = RunsTail(log, "west.east")
    assert await tail.published_since((0,)) == {ONE: LastRun(7, 18, left_out=2)}


async def test_messages_that_were_read_are_not_read_again():
    log = Log(1)
    for number in range(4):
        log.publish(0, ONE, Run(number, number, 1))
    tail = RunsTail(log, "west.east")
    assert await tail.published_since((3,)) == {ONE: LastRun(4, 4)}
    log.publish(0, OTHER, Run(0, 9, 1))
    assert (await tail.published_since((4,)))[OTHER] == LastRun(1, 10)
    assert log.asked == [(0, 3), (0, 4)]
    await tail.published_since((1,))
    assert log.asked[2:] == [(0, 1), (0, 2)]


async def test_messages_before_the_position_are_not_read():
    log = Log(1)
    log.publish(0, OTHER, Run(0, 0, 1))
    log.publish(0, ONE, Run(0, 0, 1))
    assert await RunsTail(log, "west.east").published_since((1,)) == {ONE: LastRun(1, 1)}


async def test_a_topic_that_is_shorter_than_the_position_is_read_whole():
    log = Log(2)
    log.publish(0, ONE, Run(0, 0, 1))
    assert await RunsTail(log, "west.east").published_since((50,)) == {ONE: LastRun(1, 1)}


async def test_a_topic_that_is_recreated_is_read_whole_even_once_it_has_outgrown_the_position():
    log = Log(1)
    for number in range(4):
        log.publish(0, ONE, Run(5 * number, 5 * number, 5))
    tail = RunsTail(log, "west.east")
    assert await tail.published_since((1,)) == {ONE: LastRun(20, 20)}
    log.recreate()
    log.publish(0, OTHER, Run(0, 7, 1))
    for number in range(5):
        log.publish(0, ONE, Run(number, number, 1))
    whole = {ONE: LastRun(20, 20), OTHER: LastRun(1, 8)}
    assert await tail.published_since((4,)) == whole
    log.asked.clear()
    assert await tail.published_since((4,)) == whole
    assert log.asked == []


async def test_a_topic_that_is_recreated_before_anything_of_it_was_read_is_read_whole():
    log = Log(1)
    tail = RunsTail(log, "west.east")
    await tail.look()
    log.recreate()
    log.publish(0, OTHER, Run(0, 7, 1))
    log.publish(0, ONE, Run(0, 0, 1))
    assert await tail.published_since((1,)) == {ONE: LastRun(1, 1), OTHER: LastRun(1, 8)}


async def test_runs_of_a_topic_that_was_recreated_are_still_known():
    log = Log(1)
    log.publish(0, ONE, Run(0, 0, 5))
    tail = RunsTail(log, "west.east")
    await tail.published_since((0,))
    log.recreate()
    assert await tail.published_since((0,)) == {ONE: LastRun(5, 5)}
    assert tail.positions == (0,)


async def test_messages_of_another_version_are_skipped():
    log = Log(1)
    log.messages[0] += [(b"[2]", b""), (encode(ONE, RunSegment(0, 1, ()))[0], b"\x02")]
    log.publish(0, ONE, Run(0, 0, 1))
    assert await RunsTail(log, "west.east").published_since((0,)) == {ONE: LastRun(1, 1)}


async def test_a_missing_topic_has_no_runs():
    log = Log(0)
    log.delete()
    tail = RunsTail(log, "west.east")
    assert await tail.published_since((3,)) == {}
    assert tail.positions == ()


offsets = st.integers(0, 2**60)
lengths = st.integers(1, 1000)


@given(offsets, offsets, st.lists(st.tuples(lengths, lengths, lengths), max_size=8), lengths)
def test_no_run_of_a_piece_ends_after_the_offset_in_its_first_bytes(begin, target, rows, spare):
    """Each row: a number of offsets passed over, of records, and of other regions' records."""
    runs, source = [], begin
    for passed_over, count, others in rows:
        runs.append(Run(source + passed_over, target, count))
        source += passed_over + count
        target += count + others
    said = _span(pack_segment(RunSegment(begin, source + spare, tuple(runs))))
    assert said == (begin, source + spare)
    first = RunSegment(begin, source + spare, tuple(runs))
    joined = learned([first, RunSegment(source + 2 * spare, source + 3 * spare, ())])
    several = _span(pack(joined.piece()))
    assert several is None or several[1] >= source


async def test_a_position_below_the_topics_start_is_read_from_there():
    log = Log(1)
    for number in range(6):
        log.publish(0, ONE, Run(5 * number, 5 * number, 5))
    log.starts[0] = 3
    tail = RunsTail(log, "west.east")
    assert (await tail.published_since((0,)))[ONE] == LastRun(30, 30)
    assert log.asked[0] == (0, 3)


async def test_reading_back_continues_where_an_attempt_was_cut_short():
    log = Log(1)
    for number in range(12):
        log.publish(0, ONE if number else OTHER, Run(5 * number, 5 * number, 5))
    tail = RunsTail(log, "west.east")
    await tail.published_since((10,))
    log.asked.clear()
    log.left = 2
    with pytest.raises(asyncio.CancelledError):
        await tail.published_since((0,))
    log.left = -1
    assert (await tail.published_since((0,)))[OTHER] == LastRun(5, 5)
    assert [offset for _, offset in log.asked] == [0, 2, 4, 4, 6, 8]

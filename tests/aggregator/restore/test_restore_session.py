"""Restore session: sequences, runs and positions of the batches of one partition."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from aggregator.restore.restore_entry import claim
from aggregator.restore.restore_plan import PartitionPlan
from aggregator.restore.restore_session import BATCHES_MAX, RestoredPartition, RestoreSession
from balancer.topic_partition import TopicPartition
from replicator.batches.batch import header_at
from replicator.batches.outgoing_batch import OutgoingBatch
from replicator.kafka.client.fenced_committer import Identity
from replicator.kafka.client.progress_expiry import ProgressExpiry
from replicator.mirror.offset_map.run_segment import Run, RunSegment
from tests.replicator.batches.source_batches import encoded, one_record

PLAN = PartitionPlan(0, 10, 100, ())


def partition() -> RestoredPartition:
    entry = claim("job", "text", PLAN, 3, "id")
    return RestoredPartition(TopicPartition("t", 0), None, entry)


def batch(*spans: tuple[int, int]) -> OutgoingBatch:
    count = sum(count for _, count in spans)
    data = bytearray(encoded([one_record(at) for at in range(count)]))
    return OutgoingBatch(data, count, spans, True)


def test_batches_are_transactional_and_their_sequences_follow_each_other():
    one, batches = partition(), [batch((10, 3)), batch((14, 2))]
    one.sequence = 0x7FFFFFFF - 1
    for _ in range(2):
        # A transaction that is repeated sends the same bytes.
        one.stamped(batches, Identity("id", 77, 5))
        headers = [header_at(each.data) for each in batches]
        assert [each.base_sequence for each in headers] == [0x7FFFFFFE, 1]
        assert all(each.is_transactional for each in headers)
        assert {(each.producer_id, each.producer_epoch) for each in headers} == {(77, 5)}


def test_the_position_is_behind_the_last_batch_and_at_the_end_once_there_are_no_more():
    one = partition()
    assert one.position_behind([batch((10, 3))] * BATCHES_MAX) == 13
    assert one.position_behind([batch((10, 3))]) == 100
    assert one.position_behind([]) == 100


def test_runs_touch_each_other_from_the_first_offset_of_the_topic_on():
    one, batches = partition(), [batch((12, 3), (20, 2))]
    found = one.landed(batches, [7])
    assert found == RunSegment(0, 100, (Run(12, 7, 3), Run(20, 10, 2)))
    some = [batch((10 * at, 2)) for at in range(2, 2 + BATCHES_MAX)]
    found = one.landed(some, [100, 102, 200, 202, 204])
    assert (found.source_begin, found.source_end) == (0, 62)
    one.entry = one.entry.passed(62, 10)
    assert one.landed([], []) == RunSegment(62, 100, ())


class Rounds:
    """A source with so many full rounds of batches, each of which takes an hour."""

    def __init__(self, rounds: int, clock: Clock) -> None:
        self.rounds, self.clock = rounds, clock

    def take(self, most: int) -> list[OutgoingBatch]:
        self.rounds, self.clock.hours = self.rounds - 1, self.clock.hours + 1.0
        return [batch((10, 1))] * most if self.rounds > 0 else []


class Clock:
    hours = 0.0

    def __call__(self) -> float:
        return self.hours * 3600.0


class Committed:
    """Entries by the time of their last commit."""

    def __init__(self, clock: Clock) -> None:
        self.clock, self.found = clock, {}

    async def commit(self, committer, entries, *, effects) -> None:
        self.found |= {place: (entry, self.clock.hours) for place, entry in entries.items()}


async def test_entries_of_partitions_that_are_done_or_wait_do_not_expire_beside_others():
    clock = Clock()
    entries, told = Committed(clock), []
    plans = [replace(PLAN, partition=number) for number in range(3)]
    known = {TopicPartition("t", it.partition): claim("job", "", it, 3, "id") for it in plans}
    done = known[TopicPartition("t", 1)] = known[TopicPartition("t", 1)].passed(100, 5)
    session = RestoreSession(
        topic_id="",
        fenced_committer=None,
        entries=entries,
        producer=SimpleNamespace(cluster=SimpleNamespace(topic=lambda _: None)),
        partitions=[
            RestoredPartition(place, Rounds(rounds, clock), known[place])
            for place, rounds in ((TopicPartition("t", 0), 40), (TopicPartition("t", 2), 2))
        ],
        note=told.append,
        known=known,
        expiry=ProgressExpiry(8 * 3600.0, 80 * 3600.0, is_known=True),
        clock=clock,
    )
    await session.run()
    assert entries.found[TopicPartition("t", 1)][0] == done
    assert entries.found[TopicPartition("t", 2)][0].is_done
    assert all(clock.hours - at < 8 for _, at in entries.found.values())
    assert all(TopicPartition("t", 1) not in each for each in told)

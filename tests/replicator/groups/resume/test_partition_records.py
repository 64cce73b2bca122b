"""Unread records are handed out once and in order, whenever records and runs arrive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from replicator.groups.progress.partition_in_region import Known, PartitionInRegion, Passed
from replicator.groups.resume.partition_records import PartitionRecords
from replicator.groups.resume.runs_memory import PublishedPieces, RunsMemory, Source
from replicator.mirror.offset_map.run_segment import Run, RunBuffer, RunSegment
from tests.replicator.groups.progress.world import Log, exact_vector, placed, worlds
from tests.replicator.groups.resume.published_runs import piece, publications
from tests.replicator.mirror.offset_map.told_logs import alone, learned


def feed(partition: PartitionRecords, log: Log, begin: int, end: int) -> None:
    for at in range(begin, end):
        if log[at]:
            partition.take(at, log[at])


def handed(steps: Iterable) -> list:
    return [step.item for step in steps if step.item is not None]


def whole(log: Log, regions: Iterable[str]) -> PartitionInRegion:
    """Returns everything that runs can say about a log."""
    memory = RunsMemory(regions)
    for region in regions:
        buffer = RunBuffer(0)
        for source, target in placed(log, region):
            buffer.land(source, target, 1)
        pieces = tuple(piece(segment) for segment in buffer.take())
        memory.learn(PublishedPieces(Source(region, "id"), 0, pieces))
    return memory.aggregate()


@given(st.data(), worlds(regions_max=3), st.booleans())
def test_resumed_the_unread_records_are_handed_out_once_and_in_order(data, world, is_tracking):
    """Records and runs arrive in any interleaving; only the resume offset was exact."""
    vector = exact_vector(world, data.draw(st.integers(0, len(world.here))))
    begin = whole(world.there, world.sources).resume(vector)
    assert begin is not None
    partition: PartitionRecords = PartitionRecords(vector, is_tracking=is_tracking)
    partition.begin(begin.offset)
    memory = RunsMemory(world.sources)
    partition.set_runs(memory.aggregate())
    published = data.draw(publications(world.there, list(world.sources)))
    arrived, out = begin.offset, []
    while published or arrived < len(world.there):
        if arrived < len(world.there) and data.draw(st.booleans()):
            feed(partition, world.there, arrived, arrived + 1)
            arrived += 1
        elif published:
            memory.learn(published.pop())
            partition.set_runs(memory.aggregate())
            if out and data.draw(st.booleans()):
                memory.trim(world.there.index(out[-1]) + 1)
                partition.set_runs(memory.aggregate())
        out += handed(partition.release())
    out += handed(partition.release())
    assert partition.held == 0
    unread = [each for each in world.there if each and each[1] >= vector[each[0]]]
    assert out == unread


@given(st.data(), worlds(regions_max=3))
def test_the_vector_after_a_record_is_what_was_read_by_then(data, world):
    read = exact_vector(world, data.draw(st.integers(0, len(world.here))))
    there = whole(world.there, world.sources)
    partition: PartitionRecords = PartitionRecords(read, is_tracking=True)
    partition.set_runs(there)
    begin = partition.start(None, 0)
    partition.begin(begin)
    feed(partition, world.there, begin, len(world.there))
    seen = {(r, o) for r, offsets in world.sources.items() for o in offsets if o < read[r]}
    for step in partition.release():
        if step.item:
            assert step.item not in seen
            seen.add(step.item)
        vector = partition.vector(step.next_offset)
        below = {(r, o) for r, offsets in world.sources.items() for o in offsets if o < vector[r]}
        assert below == seen


@given(st.data(), worlds(regions_min=2, regions_max=3), st.booleans())
def test_moves_back_and_forth_hand_out_every_record_exactly_once(data, world, is_tracking):
    """Both aggregates end with all records; the group moves at any time."""
    everything = [(r, o) for r, offsets in world.sources.items() for o in offsets]
    logs = [
        log
        + tuple(
            each
            for each in data.draw(st.permutations(sorted(world.sources)))
            for each in [(each, o) for o in world.sources[each] if (each, o) not in log]
        )
        for log in (world.here, world.there)
    ]
    visible = [0, 0]
    vector: dict[str, int] = dict.fromkeys(world.sources, 0)
    out: Counter = Counter()
    stays = [
        *data.draw(st.lists(st.sampled_from([0, 1]), max_size=4)),
        data.draw(st.integers(0, 1)),
    ]
    for number, place in enumerate(stays):
        is_last = number == len(stays) - 1
        log = logs[place]
        for each in (0, 1):
            least = len(logs[each]) if is_last else visible[each]
            visible[each] = data.draw(st.integers(least, len(logs[each])))
        known = whole(log[: visible[place]], world.sources)
        partition: PartitionRecords = PartitionRecords(vector, is_tracking=is_tracking)
        partition.set_runs(known)
        begin = partition.start(None, 0)
        partition.begin(begin)
        feed(partition, log, begin, visible[place])
        steps = list(partition.release())
        taken = steps if is_last else steps[: data.draw(st.integers(0, len(steps)))]
        out.update(handed(taken))
        committed = taken[-1].next_offset if taken else begin
        metadata = partition.vector(committed)
        vector = {
            region: max(known.unread(region, committed).offset, metadata.get(region, 0))
            for region in world.sources
        }
    assert out == Counter(everything)


@given(st.data(), worlds(regions_max=3), st.integers(0, 12))
def test_a_stored_vector_is_the_truth_whatever_was_committed(data, world, committed):
    """Records between the stored vector and a later commit are read again; records between the
    commit and a later vector are skipped.
    """
    stored = exact_vector(world, data.draw(st.integers(0, len(world.here))))
    memory = RunsMemory(world.sources)
    published = data.draw(publications(world.there, list(world.sources)))
    late = data.draw(st.integers(0, len(published)))
    for each in published[late:]:
        memory.learn(each)
    partition: PartitionRecords = PartitionRecords(stored, is_tracking=True)
    partition.set_runs(memory.aggregate())
    begin = partition.start(min(committed, len(world.there)), 0)
    partition.begin(begin)
    feed(partition, world.there, begin, len(world.there))
    out = handed(partition.release())
    for each in published[:late]:
        memory.learn(each)
    partition.set_runs(memory.aggregate())
    out += handed(partition.release())
    assert out == [each for each in world.there if each and each[1] >= stored[each[0]]]


# Single cases


def known(*runs: Run, region: str = "west") -> PartitionInRegion:
    return PartitionInRegion({region: Known(learned(map(alone, runs)), Passed(0, 0))})


def test_without_a_vector_records_pass_without_any_lookup():
    partition: PartitionRecords = PartitionRecords({})
    assert partition.is_open
    assert not partition.needs_runs
    assert partition.vector(5) == {}


def test_before_anything_is_known_everything_waits():
    partition: PartitionRecords = PartitionRecords({"west": 3})
    partition.take(0, "a")
    assert list(partition.release()) == []
    assert (partition.held, partition.first_held) == (1, 0)


def test_once_past_nothing_is_asked_any_more_and_the_vector_is_dropped():
    partition: PartitionRecords = PartitionRecords({"west": 2})
    partition.set_runs(known(Run(0, 0, 2)))
    for at in range(4):
        partition.take(at, at)
    assert handed(partition.release()) == [2, 3]
    assert partition.is_open
    assert not partition.needs_runs
    assert partition.vector(1) == {"west": 2}, "a commit of what lies before still needs it"
    assert partition.vector(2) == {}


def test_until_it_is_past_the_vector_stays_as_it_came():
    partition: PartitionRecords = PartitionRecords({"west": 9})
    partition.set_runs(known(Run(0, 0, 2)))
    for at in range(3):
        partition.take(at, at)
    assert [step.next_offset for step in partition.release()] == [1, 2]
    assert partition.first_held == 2
    assert partition.vector(2) == {"west": 9}


def test_a_record_without_a_run_is_released_on_request_and_changes_no_vector():
    partition: PartitionRecords = PartitionRecords({"west": 1}, is_tracking=True)
    partition.set_runs(known(Run(0, 0, 2)))
    for at in range(3):
        partition.take(at, at)
    assert handed(partition.release()) == [1]
    assert handed(partition.release(even_unknown=True)) == [2]
    assert partition.vector(3) == {"west": 2}


def test_an_error_without_an_offset_keeps_its_order():
    partition: PartitionRecords = PartitionRecords({"west": 9})
    partition.take(0, "record")
    partition.take(None, "end of partition")
    assert list(partition.release()) == []
    partition.set_runs(known(Run(9, 0, 1)))
    assert partition.vector(0) == {"west": 9}
    assert handed(partition.release()) == ["record", "end of partition"]


def test_a_record_that_is_fetched_a_second_time_is_dropped():
    partition: PartitionRecords = PartitionRecords({"west": 1}, is_tracking=True)
    partition.set_runs(known(Run(1, 0, 3)))
    for at in (0, 1, 0, 1, 2):
        partition.take(at, at)
    assert handed(partition.release()) == [0, 1, 2]


def test_a_stored_vector_never_begins_before_the_log_does():
    partition: PartitionRecords = PartitionRecords({"west": 1}, is_tracking=True)
    partition.set_runs(known(Run(0, 0, 9)))
    assert partition.start(8, 5) == 5
    assert partition.start(None, 0) == 1


def test_after_an_accepted_loss_nothing_of_that_source_is_taken_for_read():
    memory = RunsMemory(["west", "east"])
    west, east = Source("west", "id"), Source("east", "id")
    memory.learn(PublishedPieces(west, 0, (piece(RunSegment(0, 5, (Run(0, 0, 5),))),)))
    memory.learn(PublishedPieces(east, 0, (piece(RunSegment(0, 2, (Run(0, 5, 2),))),)))
    partition: PartitionRecords = PartitionRecords({"west": 5, "east": 2})
    # The source was cut at 3, and its next records got the offsets of records that were read.
    memory.learn(PublishedPieces(west, 1, (piece(RunSegment(3, 5, (Run(3, 7, 2),))),)))
    partition.set_runs(memory.aggregate())
    partition.begin(5)
    for at in range(5, 9):
        partition.take(at, at)
    assert handed(partition.release()) == [7, 8]
    assert "west" not in partition.vector(5)


def test_where_the_source_was_recreated_nothing_of_it_is_taken_for_read():
    memory = RunsMemory(["west"])
    memory.learn(
        PublishedPieces(Source("west", "old"), 0, (piece(RunSegment(0, 3, (Run(0, 0, 3),))),))
    )
    partition: PartitionRecords = PartitionRecords({"west": 3})
    partition.set_runs(memory.aggregate())
    memory.learn(
        PublishedPieces(Source("west", "new"), 0, (piece(RunSegment(0, 2, (Run(0, 3, 2),))),))
    )
    partition.set_runs(memory.aggregate())
    for at in range(5):
        partition.take(at, at)
    assert handed(partition.release()) == [0, 1, 2, 3, 4]
    assert partition.vector(1) == {}


def test_a_recreated_source_is_known_also_when_the_older_records_are_gone():
    old = learned([RunSegment(0, 3, (Run(0, 0, 3),))])
    old.trim(3)
    memory = RunsMemory(["west"])
    memory.learn(PublishedPieces(Source("west", "old"), 0, (old.piece(),)))
    memory.learn(
        PublishedPieces(Source("west", "new"), 0, (piece(RunSegment(0, 2, (Run(0, 3, 2),))),))
    )
    partition: PartitionRecords = PartitionRecords({"west": 3})
    partition.set_runs(memory.aggregate())
    partition.begin(3)
    for at in (3, 4):
        partition.take(at, at)
    assert handed(partition.release()) == [3, 4]

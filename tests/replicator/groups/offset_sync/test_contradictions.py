"""Copies that Kafka contradicts move no group forward, and all others do."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.groups.offset_sync.contradictions import is_forward, of_commit, of_runs
from replicator.groups.planning.knowledge import LogRange, PartitionFacts, Progress
from replicator.groups.progress.numbering import Cut, Numbering
from replicator.groups.progress.partition_in_region import Known, PartitionInRegion, Passed
from replicator.mirror.offset_map.offset_map import OffsetMap
from replicator.mirror.offset_map.packed_map import pack_segment, unpack
from replicator.mirror.offset_map.run_segment import RunBuffer


def runs_of(*blocks):
    """Returns the map of blocks of (source offset, target offset, count)."""
    buffer = RunBuffer(blocks[0][0])
    for block in blocks:
        buffer.land(*block)
    found = OffsetMap()
    found.join([unpack(pack_segment(each)) for each in buffer.take()])
    return found


def facts(known, log_end=100):
    return PartitionFacts(
        here=PartitionInRegion({}),
        there=PartitionInRegion({"west": known}),
        there_log=LogRange(0, log_end),
    )


@pytest.mark.parametrize(
    ("wanted", "held", "is_so"),
    [
        (Progress(5), None, True),
        (Progress(5), Progress(4), True),
        (Progress(5), Progress(5), False),
        (Progress(4), Progress(5), False),
        (Progress(4, {"west": 9}), Progress(5, {"west": 8}), True),
        (Progress(4, {"west": 9}), Progress(5), True),
        (Progress(4, {"west": 8}), Progress(5, {"west": 9}), False),
    ],
)
def test_forward_is_behind_a_record_that_would_be_read_else(wanted, held, is_so):
    assert is_forward(wanted, held) is is_so


@pytest.mark.parametrize(
    ("copied", "own", "reason"),
    [
        (Progress(12), Progress(12), None),
        (Progress(12), Progress(14), None),
        (Progress(12, {"west": 3}), Progress(12, {"west": 3}), None),
        (Progress(12), None, "at 12, its own region has none"),
        (Progress(12), Progress(11), "at 12, its own region at 11"),
        (Progress(12, {"west": 3}), Progress(12, {"west": 2}), "west read up to 3, .* up to 2"),
        (Progress(12, {"west": 3}), Progress(12), "west read up to 3, .* up to 0"),
    ],
)
def test_a_copy_may_be_older_than_the_groups_own_commit_and_never_ahead_of_it(copied, own, reason):
    found = of_commit(copied, own)
    assert re.search(reason, found) if reason else found is None


@pytest.mark.parametrize(
    ("runs", "passed", "reason"),
    [
        (runs_of((0, 5, 10)), Passed(10, 15), ""),
        (runs_of((0, 5, 10)), Passed(4, 9), ""),
        (runs_of((0, 5, 10), (10, 20, 5)), Passed(10, 15), ""),
        (runs_of((0, 5, 10)), None, ""),
        (runs_of((0, 6, 10)), Passed(10, 15), "before that end at 16"),
        (runs_of((0, 5, 10)), Passed(4, 8), "before that end at 9"),
        (runs_of((0, 5, 10), (10, 20, 5)), Passed(10, 21), "behind that begin at 20"),
        (runs_of((0, 95, 10)), Passed(10, 105), "end at 105, the log here at 100"),
    ],
)
def test_runs_stand_on_the_side_of_the_ledgers_entry_that_their_sources_do(runs, passed, reason):
    found = of_runs(facts(Known(runs, passed)))
    assert reason in found if reason else found is None


def test_a_source_topic_that_is_named_and_was_never_cut_is_compared():
    known = Known(runs_of((0, 6, 10)), Passed(10, 15), numbering=Numbering("a-topic-id"))
    assert "before that end at 16" in of_runs(facts(known))


def test_a_source_log_that_was_cut_is_not_compared():
    numbering = Numbering("a-topic-id", cuts=(Cut(5, is_accepted=False),))
    assert of_runs(facts(Known(runs_of((0, 6, 10)), Passed(10, 15), numbering=numbering))) is None


def test_after_an_accepted_loss_a_rewound_source_stands_twice_and_contradicts_nothing():
    assert of_runs(facts(Known(runs_of((0, 5, 10)), Passed(2, 15), losses=1))) is None


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(1, 9)), min_size=1),
    st.integers(0, 40),
)
def test_no_entry_that_a_carrier_could_have_committed_contradicts_its_own_runs(gaps, at):
    """An entry has a source offset that was passed, and the end of what landed before it."""
    source = target = 0
    blocks = []
    for source_gap, target_gap, count in gaps:
        blocks.append((source + source_gap, target + target_gap, count))
        source, target = source + source_gap + count, target + target_gap + count
    records = [(s + each, t + each) for s, t, count in blocks for each in range(count)]
    passed_source = min(at, source)
    landed = [there for here, there in records if here < passed_source]
    passed = Passed(passed_source, max(landed) + 1 if landed else 0)
    assert of_runs(facts(Known(runs_of(*blocks), passed), log_end=target)) is None

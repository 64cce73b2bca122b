"""Skipped records were read, delivered ones were not; with all runs known none is in doubt."""

from hypothesis import given
from hypothesis import strategies as st

from replicator.groups.progress.partition_in_region import Known, PartitionInRegion
from replicator.groups.progress.skipping import RecordState, is_past, record_state
from replicator.mirror.offset_map.run_segment import Run, RunSegment
from tests.replicator.groups.progress.world import aggregates, exact_vector, worlds
from tests.replicator.mirror.offset_map.told_logs import learn, learned


def truth(record, vector):
    region, offset = record
    return RecordState.READ if offset < vector[region] else RecordState.UNREAD


@given(st.data(), worlds(regions_max=4))
def test_no_record_is_judged_wrongly_whatever_is_known(data, world):
    vector = exact_vector(world, data.draw(st.integers(0, len(world.here))))
    there = data.draw(aggregates(world.there, list(world.sources)))
    for at, record in enumerate(world.there):
        found = record_state(there, at, vector)
        assert record is None or found in (truth(record, vector), RecordState.UNKNOWN)


@given(st.data(), worlds(regions_max=4))
def test_with_all_runs_published_no_record_is_unknown(data, world):
    vector = exact_vector(world, data.draw(st.integers(0, len(world.here))))
    there = data.draw(aggregates(world.there, list(world.sources), is_whole=True))
    for at, record in enumerate(world.there):
        if record:
            assert record_state(there, at, vector) is truth(record, vector)


@given(st.data(), worlds(regions_max=4))
def test_resumed_and_skipped_exactly_the_unread_records_are_delivered(data, world):
    vector = exact_vector(world, data.draw(st.integers(0, len(world.here))))
    there = data.draw(aggregates(world.there, list(world.sources), is_whole=True))
    resume = there.resume(vector)
    assert resume is not None
    delivered = {
        record
        for at, record in enumerate(world.there)
        if record and at >= resume.offset and record_state(there, at, vector) is RecordState.UNREAD
    }
    assert delivered == {r for r in world.there if r and truth(r, vector) is RecordState.UNREAD}


@given(st.data(), worlds(regions_max=4))
def test_once_past_everything_that_follows_is_unread(data, world):
    vector = exact_vector(world, data.draw(st.integers(0, len(world.here))))
    there = data.draw(aggregates(world.there, list(world.sources)))
    past = [at for at in range(len(world.there)) if is_past(there, at, vector)]
    for record in world.there[past[0] :] if past else ():
        assert record is None or truth(record, vector) is RecordState.UNREAD


def test_an_offset_that_runs_of_two_regions_claim_counts_as_unread():
    # The aggregate lost west's last records, and north's landed at their offsets.
    west = learned([RunSegment(0, 10, (Run(0, 0, 10),))])
    north = learned([RunSegment(0, 4, (Run(0, 6, 4),))])
    there = PartitionInRegion({"west": Known(west), "north": Known(north)})
    found = [record_state(there, at, {"west": 10, "north": 0}) for at in (5, 6, 9)]
    assert found == [RecordState.READ, RecordState.UNREAD, RecordState.UNREAD]


def test_offsets_that_the_source_left_out_are_passed_once_that_is_published():
    runs = learned([RunSegment(0, 10, (Run(0, 100, 10),))])
    there = PartitionInRegion({"west": Known(runs)})
    assert not is_past(there, 110, {"west": 12})
    learn(runs, RunSegment(10, 12, ()))
    assert is_past(there, 110, {"west": 12})
    assert not is_past(there, 109, {"west": 12})

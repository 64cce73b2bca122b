"""Progress and resume positions against a replay of both logs, record by record."""

from dataclasses import replace

from hypothesis import assume, given
from hypothesis import strategies as st

from replicator.groups.progress.partition_in_region import (
    Known,
    PartitionInRegion,
    Passed,
    basis_of,
    vector_of,
)
from replicator.mirror.offset_map.offset_map import MappedOffset, OffsetMap
from replicator.mirror.offset_map.packed_map import pack_segment, unpack
from replicator.mirror.offset_map.run_segment import RunSegment
from tests.replicator.groups.progress.world import (
    aggregates,
    exact_vector,
    met_again,
    oracle,
    progress,
    read,
    worlds,
)


@given(st.data(), worlds())
def test_nothing_is_ever_skipped_whatever_is_known(data, world):
    regions = list(world.sources)
    here = data.draw(aggregates(world.here, regions))
    there = data.draw(aggregates(world.there, regions))
    committed = data.draw(st.integers(0, len(world.here)))
    places = progress(here, committed)
    if places is None:
        return
    truth, vector = exact_vector(world, committed), vector_of(places)
    held = {
        region: {offset for each, offset in filter(None, world.here) if each == region}
        for region in regions
    }
    for region, found in places.items():
        read_past = {offset for offset in held[region] if offset < found.offset}
        assert read_past <= {
            offset for each, offset in read(world.here, committed) if each == region
        }
        if found.basis == "exact":
            assert not {o for o in held[region] if found.offset <= o < truth[region]}
    resume = there.resume(vector)
    if resume is None:
        return
    unread = set(filter(None, world.there)) - read(world.here, committed)
    assert not unread & set(world.there[: resume.offset])
    if resume.basis == "exact" and basis_of(places) == "exact":
        assert resume.offset == oracle(world, truth)


@given(st.data(), worlds())
def test_with_all_known_the_answer_is_the_best_there_is(data, world):
    regions = list(world.sources)
    here = data.draw(aggregates(world.here, regions, is_whole=True))
    there = data.draw(aggregates(world.there, regions, is_whole=True))
    committed = data.draw(st.integers(0, len(world.here)))
    places = progress(here, committed)
    assert places is not None
    assert basis_of(places) == "exact"
    truth = exact_vector(world, committed)
    resume = there.resume(vector_of(places))
    assert resume is not None
    best = oracle(world, truth)
    assert resume.offset <= best
    assert not {each for each in world.there[resume.offset : best] if each} or resume.offset == best
    seen = read(world.here, committed)
    again = [each for each in world.there[resume.offset :] if each in seen]
    assert met_again(there, vector_of(places), resume.offset) == len(again)


@given(st.data(), worlds())
def test_reading_on_and_skipping_by_the_vector_is_the_unread_set_exactly(data, world):
    regions = list(world.sources)
    here = data.draw(aggregates(world.here, regions, is_whole=True))
    there = data.draw(aggregates(world.there, regions))
    committed = data.draw(st.integers(0, len(world.here)))
    places = progress(here, committed)
    assert places is not None
    vector = vector_of(places)
    resume = there.resume(vector)
    assume(resume is not None)
    # All records mirrored later come behind, also those that the group has read here before.
    later = [
        (region, offset)
        for region, offsets in world.sources.items()
        for offset in offsets
        if (region, offset) not in world.there
    ]
    whole = [*world.there, *data.draw(st.permutations(later))]
    taken = [each for each in whole[resume.offset :] if each and each[1] >= vector[each[0]]]
    everything = {(region, o) for region, offsets in world.sources.items() for o in offsets}
    assert sorted(taken) == sorted(everything - read(world.here, committed))


@given(st.data(), worlds())
def test_knowing_less_never_moves_the_answer_forward(data, world):
    regions = list(world.sources)
    whole = data.draw(aggregates(world.there, regions, is_whole=True))
    part = data.draw(aggregates(world.there, regions))
    part = replace(part, log_end=data.draw(st.sampled_from([None, part.log_end])))
    vector = {region: data.draw(st.integers(0, 25)) for region in regions}
    best, found = whole.resume(vector), part.resume(vector)
    assert best is not None
    assert found is None or found.offset <= max(best.offset, oracle(world, vector))


def test_a_source_that_ends_in_a_marker_takes_no_group_back_to_its_last_record():
    def known(end, *run):
        runs = OffsetMap()
        runs.join([unpack(pack_segment(RunSegment(0, end, (run,))))])
        return Known(runs, Passed(end, 10))

    # West's offset 5 is a marker. East's records stand behind west's.
    aggregate = PartitionInRegion(
        {"west": known(6, 0, 0, 5), "east": known(5, 0, 5, 5)}, log_end=10
    )
    assert aggregate.resume({"west": 5, "east": 5}) == MappedOffset(10, "exact")
    assert aggregate.resume({"west": 5, "east": 3}) == MappedOffset(8, "exact")

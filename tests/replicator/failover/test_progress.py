"""Progress and resume positions against a replay of both logs, record by record."""

from dataclasses import dataclass, replace

from hypothesis import assume, given
from hypothesis import strategies as st

from replicator.failover.checkpoints import Checkpoint, carried_over
from replicator.failover.progress import (
    Aggregate,
    Known,
    Passed,
    Vector,
    basis_of,
    progress,
    vector_of,
)
from replicator.offsets.offset_map import OffsetMap
from replicator.offsets.stretch import Gathering

Record = tuple[str, int]
"""A source region, and an offset there."""
Log = tuple[Record | None, ...]
"""An aggregate's partition; None is an offset without a record: a marker, or compaction's work."""


@dataclass(frozen=True)
class World:
    """What two aggregates hold; `here` the group was reading."""

    sources: dict[str, list[int]]
    here: Log
    there: Log


@st.composite
def logs(draw, sources: dict[str, list[int]]) -> Log:
    """An interleaving of as much of each source as was mirrored."""
    left = {region: draw(st.integers(0, len(held))) for region, held in sources.items()}
    queues = {region: list(held[: left[region]]) for region, held in sources.items()}
    log: list[Record | None] = []
    while any(queues.values()):
        region = draw(st.sampled_from([None, *(each for each, held in queues.items() if held)]))
        log.append(None if region is None else (region, queues[region].pop(0)))
    return tuple(log)


@st.composite
def worlds(draw) -> World:
    sources = {}
    for region in ("north", "east", "west")[: draw(st.integers(1, 3))]:
        gaps = draw(st.lists(st.integers(1, 3), max_size=7))
        sources[region] = [sum(gaps[: at + 1]) - 1 for at in range(len(gaps))]
    return World(sources, draw(logs(sources)), draw(logs(sources)))


def placed(log: Log, region: str) -> list[tuple[int, int]]:
    """(source offset, target offset) of a region's records."""
    return [(each[1], at) for at, each in enumerate(log) if each and each[0] == region]


@st.composite
def aggregates(draw, log: Log, regions: list[str], *, is_whole: bool = False) -> Aggregate:
    """What may be known of a log: runs in stretches, of which some are missing, and entries."""
    known = {}
    for region in regions:
        records = placed(log, region)
        runs, gathering = OffsetMap(), Gathering(0)
        for source, target in records:
            gathering.land(source, target, 1)
            if draw(st.booleans()):
                for stretch in gathering.take():
                    if is_whole or draw(st.booleans()):
                        runs.learn(stretch)
        for stretch in gathering.take():
            runs.learn(stretch)
        passed = None
        if is_whole or draw(st.booleans()):
            at = len(log) if is_whole else draw(st.integers(0, len(log)))
            before = [source for source, target in records if target < at]
            passed = Passed(before[-1] + 1 if before else 0, at)
        known[region] = Known(runs, passed)
    return Aggregate(known, len(log))


def read(log: Log, committed: int) -> set[Record]:
    return {each for each in log[:committed] if each}


def oracle(world: World, vector: Vector) -> int:
    """The first offset there that holds a record the group has not read; else the log's end."""
    for at, each in enumerate(world.there):
        if each and each[1] >= vector[each[0]]:
            return at
    return len(world.there)


def exact_vector(world: World, committed: int) -> dict[str, int]:
    seen = read(world.here, committed)
    vector = {}
    for region, offsets in world.sources.items():
        mine = [offset for offset in offsets if (region, offset) in seen]
        vector[region] = mine[-1] + 1 if mine else 0
    return vector


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
    assert there.read_again(vector_of(places), resume.offset) == len(again)


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
    # All that is mirrored later comes behind, also what the group has read here before it came.
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


@given(st.data(), worlds())
def test_checkpoints_skip_nothing_and_runs_are_never_behind_them(data, world):
    regions = list(world.sources)
    here, there = (
        {
            region: [Checkpoint(*each) for each in placed(log, region) if data.draw(st.booleans())]
            for region in regions
        }
        for log in (world.here, world.there)
    )
    committed = data.draw(st.integers(0, len(world.here)))
    found = carried_over(committed, here, there)
    if found is None:
        return
    unread = set(filter(None, world.there)) - read(world.here, committed)
    assert not unread & set(world.there[:found])
    known_here = data.draw(aggregates(world.here, regions, is_whole=True))
    known_there = data.draw(aggregates(world.there, regions, is_whole=True))
    places = progress(known_here, committed)
    assert places is not None
    resume = known_there.resume(vector_of(places))
    assert resume is not None
    assert resume.offset >= found

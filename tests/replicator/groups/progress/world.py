"""Two aggregates of the same sources, what may be known of them, and the true answers."""

from dataclasses import dataclass

from hypothesis import strategies as st

from replicator.groups.progress.partition_in_region import (
    NOTHING,
    Known,
    PartitionInRegion,
    Passed,
    Vector,
)
from replicator.mirror.offset_map.offset_map import MappedOffset, OffsetMap
from replicator.mirror.offset_map.run_segment import RunBuffer
from tests.replicator.mirror.offset_map.told_logs import learn

Record = tuple[str, int]
"""Source region, and an offset there."""
Log = tuple[Record | None, ...]
"""Partition of an aggregate; None is an offset without a record, by a marker or compaction."""


MOSTLY = st.sampled_from([True, True, True, False])
# A strategy that is made for each draw takes longer than the draw; Hypothesis keeps integers.
GAPS = st.sampled_from([0, 4]).flatmap(
    lambda least: st.lists(st.integers(1, 3), min_size=least, max_size=7)
)


@dataclass(frozen=True)
class Regions:
    """Final content of each region's aggregate, each in an order of its own."""

    sources: dict[str, list[int]]
    logs: dict[str, Log]

    @property
    def records(self) -> set[Record]:
        return {(region, offset) for region, held in self.sources.items() for offset in held}


@dataclass(frozen=True)
class World:
    """Content of two aggregates; the group was reading `here`."""

    sources: dict[str, list[int]]
    here: Log
    there: Log


def log_of(draw, sources: dict[str, list[int]], *, is_whole: bool = False) -> Log:
    """Draws an interleaving of the mirrored part of each source."""
    left = {
        region: len(held) if is_whole else draw(st.integers(0, len(held)))
        for region, held in sources.items()
    }
    queues = {region: list(held[: left[region]]) for region, held in sources.items()}
    log: list[Record | None] = []
    while any(queues.values()):
        choices = [None, *(each for each, held in queues.items() if held)]
        region = choices[draw(st.integers(0, len(choices) - 1))]
        log.append(None if region is None else (region, queues[region].pop(0)))
    return tuple(log)


@st.composite
def some_sources(draw, regions_min: int, regions_max: int) -> dict[str, list[int]]:
    sources = {}
    for region in ("west", "east", "north", "south")[: draw(st.integers(regions_min, regions_max))]:
        gaps = draw(GAPS)
        sources[region] = [sum(gaps[: at + 1]) - 1 for at in range(len(gaps))]
    return sources


@st.composite
def worlds(draw, regions_min: int = 1, regions_max: int = 3) -> World:
    sources = draw(some_sources(regions_min, regions_max))
    return World(sources, log_of(draw, sources), log_of(draw, sources))


@st.composite
def some_regions(draw, regions_min: int = 2, regions_max: int = 4) -> Regions:
    sources = draw(some_sources(regions_min, regions_max))
    return Regions(sources, {region: log_of(draw, sources, is_whole=True) for region in sources})


def placed(log: Log, region: str) -> list[tuple[int, int]]:
    """Returns (source offset, target offset) of a region's records."""
    return [(each[1], at) for at, each in enumerate(log) if each and each[0] == region]


@st.composite
def aggregates(draw, log: Log, regions: list[str], *, is_whole: bool = False) -> PartitionInRegion:
    """Draws partial knowledge of a log: run segments, some of them missing, and ledger entries."""
    known = {}
    for region in regions:
        records = placed(log, region)
        runs, buffer = OffsetMap(), RunBuffer(0)
        for source, target in records:
            buffer.land(source, target, 1)
            if draw(st.booleans()):
                for segment in buffer.take():
                    # A missing first segment leaves nothing to answer, so most stay.
                    if is_whole or draw(MOSTLY):
                        learn(runs, segment)
        learn(runs, *buffer.take())
        passed = None
        if is_whole or draw(MOSTLY):
            at = len(log) if is_whole else draw(st.integers(0, len(log)))
            before = [source for source, target in records if target < at]
            passed = Passed(before[-1] + 1 if before else 0, at)
        known[region] = Known(runs, passed)
    return PartitionInRegion(known, len(log))


def progress(
    here: PartitionInRegion, committed: int, vector: Vector = NOTHING
) -> dict[str, MappedOffset] | None:
    """Returns the group's vector with the basis of each offset; None if a region's is not known."""
    found = {
        region: here.first_unread(region, committed, vector.get(region)) for region in here.known
    }
    whole = {region: place for region, place in found.items() if place is not None}
    return whole if len(whole) == len(found) else None


def met_again(there: PartitionInRegion, vector: Vector, resume: int) -> int:
    """Counts the records at or behind `resume` that were read before, as far as runs show."""
    return sum(
        there.known[region].runs.records_between(resume, unread)
        for region, unread in vector.items()
    )


def read(log: Log, committed: int) -> set[Record]:
    return {each for each in log[:committed] if each}


def oracle(world: World, vector: Vector) -> int:
    """Returns the first offset there with a record the group has not read; else the log's end."""
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

"""Logs of one partition and the run segments published of them, from which offset maps are made."""

from bisect import bisect_left

from hypothesis import strategies as st

from replicator.mirror.offset_map.offset_map import OffsetMap, Place
from replicator.mirror.offset_map.run_segment import RunBuffer, RunSegment

# Landed records of one source partition: (source offset, target offset), ascending. Gaps in the
# source are compaction and aborts; gaps in the target are other regions' records.
Log = list[tuple[int, int]]
ASKED = range(-1, 90)


@st.composite
def logs(draw) -> Log:
    steps = st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(1, 4))
    source = target = 0
    log = []
    for source_gap, target_gap, records in draw(st.lists(steps, max_size=8)):
        source, target = source + source_gap, target + target_gap
        log += [(source + at, target + at) for at in range(records)]
        source, target = source + records, target + records
    return log


@st.composite
def told_logs(draw) -> tuple[Log, list[RunSegment]]:
    """Draws a log and the run segments that consecutive carriers published of it."""
    log = draw(logs())
    gathering, stretches = RunBuffer(0), []
    for source, target in log:
        gathering.land(source, target, 1)
        if draw(st.booleans()):
            stretches += gathering.take()
    return log, stretches + gathering.take()


TOLD = told_logs()


def learned(stretches) -> OffsetMap:
    offset_map = OffsetMap()
    for stretch in stretches:
        offset_map.learn(stretch)
    return offset_map


def before(place: Place | None) -> int:
    """Returns the answer as a number; no answer comes before every offset."""
    return -1 if place is None else place.offset


def check_floors(offset_map: OffsetMap, log: Log) -> None:
    """Checks that no answer skips a record, and that exact answers equal those of a full replay."""
    for asked in ASKED:
        group = offset_map.source_floor(asked)
        consumed = bisect_left([target for _, target in log], asked)
        if group is not None:
            passed = bisect_left([source for source, _ in log], group.offset)
            assert passed <= consumed, f"a group at {asked} never saw a record below {group}"
            assert group.basis == "floor" or passed == consumed
        start = offset_map.target_floor(asked)
        wanted = [target for source, target in log if source >= asked]
        if start is not None and wanted:
            assert start.offset <= wanted[0], f"reading from {start} skips source offset {asked}"
            assert start.basis == "floor" or start.offset == wanted[0]

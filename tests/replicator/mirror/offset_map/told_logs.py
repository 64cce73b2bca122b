"""Logs of one partition and the run segments published of them, from which offset maps are made."""

from bisect import bisect_left
from collections.abc import Iterable

from hypothesis import strategies as st

from replicator.mirror.offset_map.offset_map import MappedOffset, OffsetMap
from replicator.mirror.offset_map.packed_map import pack_segment, unpack
from replicator.mirror.offset_map.run_segment import Run, RunBuffer, RunSegment

# Landed records of one source partition: (source offset, target offset), ascending. Gaps in the
# source are compaction and aborts; gaps in the target are other regions' records.
Log = list[tuple[int, int]]
ASKED = range(-1, 90)


STEPS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(1, 4)), max_size=8)


def log_of(draw) -> Log:
    source = target = 0
    log = []
    for source_gap, target_gap, records in draw(STEPS):
        source, target = source + source_gap, target + target_gap
        log += [(source + at, target + at) for at in range(records)]
        source, target = source + records, target + records
    return log


@st.composite
def told_logs(draw) -> tuple[Log, list[RunSegment]]:
    """Draws a log and the run segments that consecutive carriers published of it."""
    log = log_of(draw)
    buffer, segments = RunBuffer(0), []
    for source, target in log:
        buffer.land(source, target, 1)
        if draw(st.booleans()):
            segments += buffer.take()
    return log, segments + buffer.take()


TOLD = told_logs()


def learn(offset_map: OffsetMap, *segments: RunSegment) -> None:
    """Joins the segments one by one, as they are published."""
    for segment in segments:
        offset_map.join([unpack(pack_segment(segment))])


def learned(segments: Iterable[RunSegment]) -> OffsetMap:
    offset_map = OffsetMap()
    learn(offset_map, *segments)
    return offset_map


def alone(run: Run) -> RunSegment:
    """Returns a segment of one run, which says nothing of the offsets around it."""
    return RunSegment(run.source_offset, run.source_end, (run,))


def runs_of(offset_map: OffsetMap) -> list[Run]:
    piece = offset_map.piece()
    columns = piece.sources.tolist(), piece.targets.tolist(), piece.counts.tolist()
    return [Run(*row) for row in zip(*columns, strict=True)]


def target_of(offset_map: OffsetMap, source_offset: int) -> int | None:
    """Returns the target offset of a source record; None when no run has it."""
    for run in runs_of(offset_map):
        if run.source_offset <= source_offset < run.source_end:
            return run.target_offset + source_offset - run.source_offset
    return None


def is_complete(offset_map: OffsetMap) -> bool:
    """Returns True when every answer up to source_end is exact: nothing is missing or thinned."""
    return not len(offset_map.missing) and not len(offset_map.piece().thinned[0])


def before(found: MappedOffset | None) -> int:
    """Returns the answer as a number; no answer comes before every offset."""
    return -1 if found is None else found.offset


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

"""Partitions that went on behind accepted losses, and the claims that then hold for their maps."""

from bisect import bisect_left
from typing import NamedTuple

from hypothesis import strategies as st

from replicator.mirror.offset_map.offset_map import OffsetMap
from replicator.mirror.offset_map.run_segment import RunBuffer, RunSegment
from tests.replicator.mirror.offset_map.told_logs import Log, learned


class Life(NamedTuple):
    """Partition that went on behind losses: the segments published under each, and its log."""

    published: list[list[RunSegment]]
    log: Log
    # Source offset and target offset of the next record.
    end: tuple[int, int]

    def whole(self, kept: list[list[RunSegment]], log_starts: list[int]) -> OffsetMap:
        """Returns the map of the kept segments, trimmed loss by loss, as Redis has it."""
        whole = OffsetMap()
        for segments, log_start in zip(kept, log_starts, strict=True):
            newer = learned(segments)
            newer.trim(log_start)
            whole.join_newer(newer)
        return whole


@st.composite
def lives(draw, *, is_target_cut: bool = False) -> Life:
    published, log = [], []
    source = target = source_end = 0
    for _ in range(draw(st.integers(2, 3))):
        log = [it for it in log if it[0] < source and it[1] < target]
        # A loss that is stepped over is published as a segment without runs; a restart publishes
        # nothing.
        buffer = RunBuffer(min(source, source_end) if draw(st.booleans()) else source)
        buffer.pass_over(source)
        segments = []
        for gap, other, records in draw(st.lists(STEPS, max_size=5)):
            source, target = source + gap, target + other
            if draw(st.booleans()):
                buffer.pass_over(source)
                segments += buffer.take()
            for _ in range(records):
                buffer.land(source, target, 1)
                log.append((source, target))
                source, target = source + 1, target + 1
            if draw(st.booleans()):
                segments += buffer.take()
        # A loss shows once something behind it was published; a loss of the target, once something
        # landed.
        if is_target_cut:
            buffer.land(source, target, 1)
            log.append((source, target))
            target += 1
        source += 1
        buffer.pass_over(source)
        published.append(segments + buffer.take())
        source_end, target_end = source, target
        source = draw(st.integers(0, source_end + 4))
        target = draw(st.integers(0, target_end)) if is_target_cut else target_end
    return Life(published, log, (source_end, target_end))


STEPS = st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 4))
LIVES, CUT_LIVES = lives(), lives(is_target_cut=True)


def part_of(segments: list[RunSegment], data) -> list[RunSegment]:
    """Returns the first segment and some others: the first alone shows where the loss was."""
    return segments[:1] + [it for it in segments[1:] if data.draw(st.booleans())]


def check_life(whole: OffsetMap, life: Life, log_starts: list[int], *, is_exact: bool) -> None:
    """Checks as check_floors does, with the record yet to come, and without the deleted ones.

    Between the lowest and the highest of the log starts, some records may be deleted.
    """
    log = [*life.log, life.end]
    sources, targets = zip(*log, strict=True)
    for asked in range(-1, max(life.end) + 3):
        group = whole.source_floor(asked)
        if group is not None:
            passed, consumed = bisect_left(sources, group.offset), bisect_left(targets, asked)
            assert passed <= consumed, f"a group at {asked} never saw a record below {group}"
            assert not is_exact or group.basis == "floor" or passed == consumed
        start = whole.target_floor(asked)
        if start is not None and asked <= life.end[0]:
            wanted = targets[bisect_left(sources, asked) :]
            deleted = range(min(log_starts), max(log_starts) + 1)
            firsts = [next((at for at in wanted if at >= it), life.end[1]) for it in deleted]
            assert start.offset <= firsts[-1], f"reading from {start} skips source offset {asked}"
            assert not is_exact or start.basis == "floor" or start.offset in firsts

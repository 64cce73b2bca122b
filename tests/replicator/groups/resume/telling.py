"""Runs as carriers publish them: in segments, and in any order."""

from hypothesis import strategies as st

from replicator.groups.resume.runs_memory import Source, Told
from replicator.mirror.offset_map.packed_map import Piece, pack_segment, unpack
from replicator.mirror.offset_map.run_segment import RunBuffer, RunSegment
from tests.replicator.groups.progress.world import Log, placed


def piece(stretch: RunSegment) -> Piece:
    return unpack(pack_segment(stretch))


@st.composite
def tellings(draw, log: Log, regions: list[str]) -> list[Told]:
    told = []
    for region in regions:
        gathering = RunBuffer(0)
        for source, target in placed(log, region):
            gathering.land(source, target, 1)
            if draw(st.booleans()):
                told += [(region, stretch) for stretch in gathering.take()]
        told += [(region, stretch) for stretch in gathering.take()]
    return [
        Told(Source(region, "id"), 0, (piece(stretch),))
        for region, stretch in draw(st.permutations(told))
    ]

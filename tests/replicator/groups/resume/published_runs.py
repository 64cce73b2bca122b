"""Runs as carriers publish them: in segments, and in any order."""

from hypothesis import strategies as st

from replicator.groups.resume.runs_memory import PublishedPieces, Source
from replicator.mirror.offset_map.packed_map import Piece, pack_segment, unpack
from replicator.mirror.offset_map.run_segment import RunBuffer, RunSegment
from tests.replicator.groups.progress.world import Log, placed


def piece(segment: RunSegment) -> Piece:
    return unpack(pack_segment(segment))


@st.composite
def publications(draw, log: Log, regions: list[str]) -> list[PublishedPieces]:
    published = []
    for region in regions:
        buffer = RunBuffer(0)
        for source, target in placed(log, region):
            buffer.land(source, target, 1)
            if draw(st.booleans()):
                published += [(region, segment) for segment in buffer.take()]
        published += [(region, segment) for segment in buffer.take()]
    return [
        PublishedPieces(Source(region, "id"), 0, (piece(segment),))
        for region, segment in draw(st.permutations(published))
    ]

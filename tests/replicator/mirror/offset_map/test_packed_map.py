"""Pieces survive packing; foreign bytes are refused by name."""

import numpy as np
import pytest

from replicator.mirror.offset_map.offset_map import OffsetMap
from replicator.mirror.offset_map.packed_map import (
    BrokenPiece,
    UnknownVersion,
    pack,
    pack_segment,
    unpack,
)
from replicator.mirror.offset_map.run_segment import Run, RunSegment
from tests.replicator.mirror.offset_map.told_logs import learned

STRETCH = RunSegment(5, 5_000_000_000, (Run(7, 1_000_000, 3), Run(4_000_000_000, 5_000_000_000, 9)))


def interleaved(runs: int) -> RunSegment:
    """Returns short runs, with a run of another region in every gap between them."""
    return RunSegment(0, 9 * runs, tuple(Run(9 * at, 17 * at + 8, 9) for at in range(runs)))


def test_a_segment_packs_as_the_map_of_that_segment_alone():
    assert pack_segment(STRETCH) == pack(learned([STRETCH]).piece())


def test_a_piece_is_unpacked_as_it_was_packed():
    piece = unpack(pack_segment(STRETCH))
    assert piece.sources.tolist() == [7, 4_000_000_000]
    assert piece.targets.tolist() == [1_000_000, 5_000_000_000]
    assert piece.counts.tolist() == [3, 9]
    assert [column.tolist() for column in piece.known] == [[5], [5_000_000_000]]
    assert piece.trimmed is None
    assert pack(piece) == pack_segment(STRETCH)


def test_an_empty_piece_is_unpacked_as_empty():
    assert len(unpack(pack(OffsetMap().piece())).sources) == 0


def test_two_regions_interleaving_cost_three_bytes_a_run():
    assert len(pack_segment(interleaved(10_000))) < 3.01 * 10_000


def test_the_widest_run_costs_27_bytes():
    far = Run(2**61, 2**61, 2**60)
    assert (
        len(pack_segment(RunSegment(0, 1, (far,)))) - len(pack_segment(RunSegment(0, 1, ()))) == 27
    )


def test_a_newer_format_is_refused_by_its_version():
    with pytest.raises(UnknownVersion, match="format 2; this Sluice reads 1"):
        unpack(b"\x02" + pack_segment(STRETCH)[1:])


@pytest.mark.parametrize("cut", range(len(pack_segment(STRETCH))))
def test_truncated_bytes_are_refused(cut):
    with pytest.raises(BrokenPiece):
        unpack(pack_segment(STRETCH)[:cut])


def test_trailing_bytes_are_refused():
    with pytest.raises(BrokenPiece, match="1 numbers too many"):
        unpack(pack_segment(STRETCH) + b"\x00")


def test_columns_keep_their_type():
    assert unpack(pack_segment(interleaved(500))).targets.dtype == np.int64

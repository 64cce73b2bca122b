"""Piece of an offset map as bytes, the same in the runs topic, in Redis and between regions.

A version byte, then unsigned varints:

    known    n, then n x (gap, length): spans of source offsets in which every run is known;
    thinned  n, then n x (gap, length): spans whose runs were dropped to stay within a cap;
    trimmed  0, or 1, source, target: everything below these is gone from the target;
    runs     n, then n x (gap, gap, length): source gap, target gap, records.

A gap is the distance from the end of the previous span or run; the first gap counts from 0. A run
of two interleaving regions costs three bytes as long as its gaps and count are below 128.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from replicator.batches import varints
from replicator.mirror.offset_map.run_segment import RunSegment
from replicator.mirror.offset_map.spans import Offsets

VERSION = 1


class UnknownVersion(ValueError):
    """A newer Sluice wrote these runs. Update the reader, or let it wait for the update."""


class BrokenPiece(ValueError):
    """The bytes are not a piece of an offset map, or not all of one."""


class Edge(NamedTuple):
    """Pair of offsets: everything carried from below source_offset landed below target_offset."""

    source_offset: int
    target_offset: int


@dataclass(frozen=True, slots=True)
class Piece:
    """Some runs of one partition, and the known facts about the offsets around them, as columns."""

    known: tuple[Offsets, Offsets]
    thinned: tuple[Offsets, Offsets]
    trimmed: Edge | None
    sources: Offsets
    targets: Offsets
    counts: Offsets


def pack(piece: Piece) -> bytes:
    """Returns the bytes of a piece."""
    trimmed = [0] if piece.trimmed is None else [1, *piece.trimmed]
    numbers = np.concatenate(
        [
            _spans(*piece.known),
            _spans(*piece.thinned),
            np.array(trimmed, dtype=np.int64),
            np.array([len(piece.counts)], dtype=np.int64),
            _interleaved(
                _gaps(piece.sources, piece.sources + piece.counts),
                _gaps(piece.targets, piece.targets + piece.counts),
                piece.counts,
            ),
        ]
    )
    return bytes([VERSION]) + varints.packed(numbers)


def pack_segment(segment: RunSegment) -> bytes:
    """Returns the bytes of a run segment as a piece; a loop, because most segments are short."""
    begin = segment.source_begin
    numbers = [1, begin, segment.source_end - begin, 0, 0, len(segment.runs)]
    source_end = target_end = 0
    for source, target, count in segment.runs:
        numbers += (source - source_end, target - target_end, count)
        source_end = source + count
        target_end = target + count
    return bytes([VERSION]) + varints.packed(numbers)


def unpack(data: bytes | memoryview) -> Piece:
    """Returns the piece that these bytes hold; raises UnknownVersion or BrokenPiece."""
    if not data:
        raise BrokenPiece("no bytes at all")
    if data[0] != VERSION:
        raise UnknownVersion(f"these runs are of format {data[0]}; this Sluice reads {VERSION}")
    try:
        return _Reader(varints.unpacked(memoryview(data)[1:])).piece()
    except varints.BrokenVarints as broken:
        raise BrokenPiece(str(broken)) from broken


class _Reader:
    """Decodes a piece's numbers from the front."""

    def __init__(self, numbers: Offsets) -> None:
        self._numbers = numbers
        self._at = 0

    def piece(self) -> Piece:
        known = self._spans()
        thinned = self._spans()
        trimmed = Edge(*map(int, self._take(2))) if self._number() else None
        source_gaps, target_gaps, counts = self._table(3)
        if self._at != len(self._numbers):
            raise BrokenPiece(f"{len(self._numbers) - self._at} numbers too many")
        return Piece(
            known=known,
            thinned=thinned,
            trimmed=trimmed,
            sources=_begins(source_gaps, counts),
            targets=_begins(target_gaps, counts),
            counts=counts,
        )

    def _spans(self) -> tuple[Offsets, Offsets]:
        gaps, lengths = self._table(2)
        begins = _begins(gaps, lengths)
        return begins, begins + lengths

    def _table(self, width: int) -> list[Offsets]:
        rows = self._take(self._number() * width)
        return [rows[column::width] for column in range(width)]

    def _number(self) -> int:
        return int(self._take(1)[0])

    def _take(self, count: int) -> Offsets:
        begin, self._at = self._at, self._at + count
        if self._at > len(self._numbers):
            raise BrokenPiece(f"{self._at - len(self._numbers)} numbers are missing")
        return self._numbers[begin : self._at]


def _spans(begins: Offsets, ends: Offsets) -> Offsets:
    rows = _interleaved(_gaps(begins, ends), ends - begins)
    return np.concatenate([np.array([len(begins)], dtype=np.int64), rows])


def _gaps(begins: Offsets, ends: Offsets) -> Offsets:
    gaps = begins.astype(np.int64)
    gaps[1:] -= ends[:-1]
    return gaps


def _begins(gaps: Offsets, lengths: Offsets) -> Offsets:
    ends: Offsets = (gaps + lengths).cumsum()
    return ends - lengths


def _interleaved(*columns: Offsets) -> Offsets:
    return np.stack(columns, axis=1).reshape(-1)

"""Numbering of a source's records: up to which offset two aggregates mean the same ones.

A source log that was cut gives the offsets behind the cut to other records. Each route stops at the
cut until an operator accepts the loss. One aggregate may therefore hold the new records under these
offsets while another still holds the old ones. The reason for an accepted loss is recorded nowhere.
A loss that only may have been such a cut counts as one, and costs reading again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import NamedTuple

from replicator.mirror.offset_map.offset_map import OffsetMap
from replicator.mirror.offset_map.packed_map import Edge


class Cut(NamedTuple):
    """Cut of a source log: from source_offset on, other records have the offsets.

    Runs behind a cut are published under one more accepted loss.

    Args:
        is_exact: False when the cut may have been anywhere below, and retention took the rest.
        is_accepted: False while the route stands still, with runs from before the cut only.
    """

    source_offset: int
    is_exact: bool = True
    is_accepted: bool = True

    @property
    def floor(self) -> int:
        """Lowest source offset at which the cut may have been."""
        return self.source_offset if self.is_exact else 0

    def may_be(self, other: Cut) -> bool:
        """Returns True when nothing tells the two cuts apart."""
        if not (self.is_accepted and other.is_accepted) or (self.is_exact and other.is_exact):
            return self == other
        exact, other = (self, other) if self.is_exact else (other, self)
        if UNKNOWN in (exact, other):
            return False
        return not exact.is_exact or exact.source_offset <= other.source_offset


UNKNOWN = Cut(0, is_exact=False)


@dataclass(frozen=True, slots=True)
class Numbering:
    """Knowledge of a source's offsets in one partition of an aggregate.

    Args:
        topic: the source topic's id (hex); None: not known.
        cuts: oldest first.
        former_end: source offset up to which the aggregate holds records from before a cut, which
            the source no longer has; 0: none.
        edges: where those records may begin: behind everything from below a source offset, and
            before the record that has that offset now.
    """

    topic: str | None = None
    cuts: tuple[Cut, ...] = ()
    former_end: int = 0
    edges: tuple[Edge, ...] = ()

    def begin(self, source_offset: int) -> int | None:
        """Returns the target offset from which older records with such a source offset may stand.

        None when there are none.
        """
        return min(
            (edge.target_offset for edge in self.edges if source_offset <= edge.source_offset),
            default=None,
        )

    def agrees_below(self, other: Numbering) -> int | None:
        """Returns the source offset below which both mean the same records; None: everywhere.

        In the other aggregate, progress by this numbering counts only up to that offset.
        """
        if None not in (self.topic, other.topic) and self.topic != other.topic:
            return 0
        pairs = zip(self.cuts, other.cuts, strict=False)
        shared = sum(1 for _ in takewhile(lambda pair: pair[0].may_be(pair[1]), pairs))
        differing = [cut.floor for cut in (*self.cuts[shared:], *other.cuts[shared:])]
        if other.former_end > self.former_end:
            # The other aggregate holds former records that this one never had.
            differing += [cut.floor for cut in other.cuts]
        return min(differing, default=None)


PLAIN = Numbering()
"""Numbering with nothing known against it."""


def numbering(
    maps: Mapping[int, OffsetMap],
    whole: OffsetMap,
    *,
    topic: str | None = None,
    losses: int = 0,
    parked_at: int | None = None,
) -> Numbering:
    """Returns the numbering by the maps of each number of losses, and by the ledger.

    Args:
        maps: losses -> the runs published under them.
        whole: the map that holds after all losses.
        topic: the source topic's id (hex); None: not known.
        losses: how many losses were accepted, by the ledger.
        parked_at: where the source's log was found to be cut, which nobody has accepted yet.
    """
    cuts: list[Cut] = []
    recreated: list[int] = []
    published_end = former_end = 0
    for number, offset_map in sorted(maps.items()):
        cut = _begin(offset_map)
        is_first = number == min(maps)
        # After a loss that is no cut, runs go on behind all that were published before.
        if number and not (is_first and cut == Cut(0)):
            if is_first or not cut.is_exact or cut.source_offset < published_end:
                cuts.append(cut)
        elif number:
            # The topic was recreated: an older one of this name was mirrored before.
            recreated.append(0)
        if published_end > cut.floor:
            former_end = max(former_end, _runs_end(maps, below=number))
        published_end = max(published_end, offset_map.source_end)
    if losses > max(maps, default=0):
        cuts.append(UNKNOWN)
    if parked_at is not None:
        cuts.append(Cut(parked_at, is_accepted=False))
    begins = sorted({*recreated, *(cut.floor for cut in cuts)})
    edges = tuple(Edge(begin, _target_before(whole, begin)) for begin in begins)
    return Numbering(topic, tuple(cuts), former_end, edges)


def _begin(offset_map: OffsetMap) -> Cut:
    if offset_map.trimmed is not None:
        return Cut(offset_map.trimmed.source_offset, is_exact=False)
    piece = offset_map.piece()
    begins = [int(each[0]) for each, _ in (piece.known, piece.thinned) if len(each)]
    if len(piece.sources):
        begins.append(int(piece.sources[0]))
    return Cut(min(begins)) if begins else UNKNOWN


def _runs_end(maps: Mapping[int, OffsetMap], *, below: int) -> int:
    ends = [0]
    for number, offset_map in maps.items():
        piece = offset_map.piece()
        if number < below and len(piece.sources):
            ends.append(int(piece.sources[-1] + piece.counts[-1]))
    return max(ends)


def _target_before(whole: OffsetMap, source_offset: int) -> int:
    """Returns the target offset behind the last record from below a source offset; 0: unknown."""
    piece = whole.piece()
    after = bisect_left(piece.sources, source_offset)
    if after:
        into = min(int(piece.counts[after - 1]), source_offset - int(piece.sources[after - 1]))
        return int(piece.targets[after - 1]) + into
    edge = whole.trimmed
    return edge.target_offset if edge and edge.source_offset <= source_offset else 0

"""Published runs of one partition, joined piece by piece as they arrive."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from replicator.groups.progress.numbering import PLAIN, numbering
from replicator.groups.progress.partition_in_region import Known, PartitionInRegion, Passed
from replicator.mirror.offset_map.offset_map import OffsetMap
from replicator.mirror.offset_map.packed_map import Piece


class Source(NamedTuple):
    """Source topic, by its region and topic id."""

    region: str
    topic_id: str


class PublishedPieces(NamedTuple):
    """Pieces of one source's offset map, published under the same number of accepted losses."""

    source: Source
    losses: int
    pieces: tuple[Piece, ...]


class RunsMemory:
    """All runs of one partition of an aggregate, from the regions that have a route into it."""

    def __init__(self, regions: Iterable[str]) -> None:
        self._regions = tuple(regions)
        self._maps: dict[Source, dict[int, OffsetMap]] = {}
        self._ends: dict[Source, int] = {}

    def learn(self, published: PublishedPieces) -> None:
        """Joins published pieces. Raises RunsContradict; the known runs are then unchanged."""
        joined = self._maps.get(published.source, {}).get(published.losses, OffsetMap())
        joined.join(published.pieces)
        # Only now: a source whose first pieces contradict each other is not known.
        self._maps.setdefault(published.source, {})[published.losses] = joined
        ends = [
            int((piece.targets + piece.counts)[-1])
            for piece in published.pieces
            if len(piece.counts)
        ]
        self._ends[published.source] = max([self._ends.get(published.source, 0), *ends])

    def trim(self, offset: int) -> None:
        """Forgets runs of records before an offset that nobody will ask for again."""
        for maps in self._maps.values():
            for offset_map in maps.values():
                offset_map.trim(offset)

    def aggregate(self, log_start: int = 0) -> PartitionInRegion:
        """Returns what is known now; call it again after every learn() and trim().

        A region whose source topic was recreated stands under two names while runs of the older
        topic are kept: the newest topic under the region's name, older ones under region/topic id.

        Args:
            log_start: where the aggregate's log begins.
        """
        # This holds for every region: nothing stands before its offset 0, and all its records in
        # the log stand at or behind the log's start.
        nothing = Passed(0, log_start)
        known = {region: Known(OffsetMap(), nothing) for region in self._regions}
        for source, maps in self._maps.items():
            if source == self._newest(source.region):
                known[source.region] = _known(maps, nothing)
            else:
                known[f"{source.region}/{source.topic_id}"] = _known(maps, nothing)
        return PartitionInRegion(known)

    def _newest(self, region: str) -> Source:
        """Returns a region's newest source topic: its runs reach furthest in the target."""
        return max(
            (source for source in self._maps if source.region == region),
            key=lambda source: self._ends[source],
        )


def _known(maps: Mapping[int, OffsetMap], passed: Passed) -> Known:
    whole, losses = _whole(maps), max(maps)
    return Known(whole, passed, losses, numbering(maps, whole) if losses else PLAIN)


def _whole(maps: Mapping[int, OffsetMap]) -> OffsetMap:
    """Returns the runs that hold after all losses."""
    if len(maps) == 1:
        return next(iter(maps.values()))
    whole = OffsetMap()
    for _, newer in sorted(maps.items()):
        whole.join_newer(newer)
    return whole

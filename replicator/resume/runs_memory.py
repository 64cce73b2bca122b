"""What was told of one partition's runs, joined piece by piece as they come."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from replicator.offsets.offset_map import OffsetMap
from replicator.offsets.packed_map import Piece
from replicator.progress.aggregate import Aggregate, Known, Passed
from replicator.progress.numbering import PLAIN, numbering


class Source(NamedTuple):
    """A source topic as runs know it."""

    region: str
    topic_id: str


class Told(NamedTuple):
    """Pieces of one source's map, told under so many accepted losses."""

    source: Source
    losses: int
    pieces: tuple[Piece, ...]


class RunsMemory:
    """All runs of one partition of an aggregate, from the regions that have a route into it."""

    def __init__(self, regions: Iterable[str]) -> None:
        self._regions = tuple(regions)
        self._maps: dict[Source, dict[int, OffsetMap]] = {}
        self._ends: dict[Source, int] = {}

    def learn(self, told: Told) -> None:
        """Raises RunsContradict, and knows no more than before."""
        self._maps.setdefault(told.source, {}).setdefault(told.losses, OffsetMap()).join(
            told.pieces
        )
        ends = [
            int((piece.targets + piece.counts)[-1]) for piece in told.pieces if len(piece.counts)
        ]
        self._ends[told.source] = max([self._ends.get(told.source, 0), *ends])

    def trim(self, offset: int) -> None:
        """Forgets runs of records from before an offset that nobody will ask for again."""
        for maps in self._maps.values():
            for offset_map in maps.values():
                offset_map.trim(offset)

    def aggregate(self, log_start: int = 0) -> Aggregate:
        """What is known now; ask again after every learn() and trim().

        A region whose source topic was made anew is named twice, as long as runs of the older one
        are kept: once by its name, for the newest, and as region/topic id for older ones.
        """
        # Of nothing everything is before the log's start, and all that is held is behind it.
        nothing = Passed(0, log_start)
        known = {region: Known(OffsetMap(), nothing) for region in self._regions}
        for source, maps in self._maps.items():
            if source == self._newest(source.region):
                known[source.region] = _known(maps, nothing)
            else:
                known[f"{source.region}/{source.topic_id}"] = _known(maps, nothing)
        return Aggregate(known)

    def _newest(self, region: str) -> Source:
        """Whose runs reach furthest: the records of a newer topic stand behind the older one's."""
        return max(
            (source for source in self._maps if source.region == region),
            key=lambda source: self._ends[source],
        )


def _known(maps: Mapping[int, OffsetMap], passed: Passed) -> Known:
    whole, losses = _whole(maps), max(maps)
    return Known(whole, passed, losses, numbering(maps, whole) if losses else PLAIN)


def _whole(maps: Mapping[int, OffsetMap]) -> OffsetMap:
    """What holds after all losses."""
    if len(maps) == 1:
        return next(iter(maps.values()))
    whole = OffsetMap()
    for _, newer in sorted(maps.items()):
        whole.give_way(newer)
    return whole

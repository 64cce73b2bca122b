"""Copies of one route's runs in another region's Redis, under the names they have at home.

OffsetStore(url, route_key).load(key) therefore reads them there. Positions guarantee that no run is
missing. Joining and trimming is left to replicator.mirror.offset_map.map_maintenance, as at home.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from replicator.groups.copies.runs_tailer import RunsRecord
from replicator.kafka.tail.copy_store import CopyStore
from replicator.kafka.tail.stored_positions import PRELUDE, header, text
from replicator.kafka.tail.tail_position import Portion
from replicator.mirror.offset_map.offset_store import packed_jointly, runs_name
from replicator.mirror.offset_map.packed_map import BrokenPiece, UnknownVersion, unpack
from replicator.mirror.offset_map.runs_topic import RunsKey
from replicator.runtime.store_errors import reached

# This many pieces of a partition, put at once, are joined first. A Redis that is filled for the
# first time would otherwise hold a piece for each second of years, and its readers would have to
# join them.
JOINED_FROM = 16

# KEYS: positions, ages, and the sets of the partitions that the portions name by number.
# ARGV: the portions, and the pieces that they name by number.
PUT = (
    PRELUDE
    + """
for _, portion in ipairs(cjson.decode(ARGV[1])) do
  if take(portion) then
    for _, piece in ipairs(portion.pieces) do
      redis.call('ZADD', KEYS[2 + piece[1]], 'GT', piece[2], ARGV[1 + piece[3]])
    end
  end
end
return behind
"""
)


class RunsCopies(CopyStore):
    """Runs of one route in the Redis of a region that is not the route's target."""

    def __init__(self, url: str, route_key: str, *, timeout_seconds: float = 5.0) -> None:
        super().__init__(url, f"runs:{route_key}", timeout_seconds=timeout_seconds)
        self._route_key = route_key
        self._put = self._redis.register_script(PUT)

    def put(self, portions: Mapping[int, Portion[RunsRecord]]) -> None:
        """Joins portions, by partition of the runs topic, in one step.

        Raises StoreBehind, after all portions are put that continue from what is here.
        """
        names: dict[str, int] = {}
        packed: dict[bytes, int] = {}
        records = []
        for number, portion in portions.items():
            pieces = [
                (
                    names.setdefault(runs_name(self._route_key, key), len(names) + 1),
                    key.losses,
                    packed.setdefault(piece, len(packed) + 1),
                )
                for key, piece in _few(each.record for each in portion.told)
            ]
            records.append({**header(number, portion), "pieces": pieces})
        keys = [*self._positions.keys, *names]
        with reached(self.name):
            behind: Any = self._put(keys, [text(records), *packed])
        self._positions.raise_if(behind)


def _few(records: Iterable[RunsRecord]) -> list[RunsRecord]:
    """Returns the same pieces, joined per partition where they are many."""
    pieces: dict[RunsKey, list[bytes]] = {}
    for key, piece in records:
        pieces.setdefault(key, []).append(piece)
    return [RunsRecord(key, piece) for key, some in pieces.items() for piece in _joined(some)]


def _joined(pieces: list[bytes]) -> list[bytes]:
    if len(pieces) < JOINED_FROM:
        return pieces
    try:
        return packed_jointly([unpack(piece) for piece in pieces])
    except (BrokenPiece, UnknownVersion):
        # Not for a copier to judge: loading this map raises the error.
        return pieces

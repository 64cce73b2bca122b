"""Runs in the target region's Redis. Never the truth: FLUSHALL costs time only.

    sluice:runs:<route>:<runs key>      sorted set of packed pieces, by the losses before them.
    sluice:runs_whole:<route>           mark that all published runs are in there: see WholeMark.

Pieces are added, and removed once their sum was added. The set grows by union, so writers need no
order, may repeat themselves, and may copy each other's pieces between regions.
"""

import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any

import redis

from replicator.mirror.offset_map.offset_map import OffsetMap
from replicator.mirror.offset_map.packed_map import Piece, pack, unpack
from replicator.mirror.offset_map.run_columns import RunsContradict
from replicator.mirror.offset_map.runs_topic import RunsKey, batched, decode_key, encode_key
from replicator.runtime.store_errors import reached, redis_name

# A map is stored in pieces of this many runs, some 60 KiB each.
RUNS_PER_PIECE = 20_000
# Loose pieces that may gather before they are joined: a minute of a busy partition.
LOOSE_PIECES_MAX = 60
# Runs of one partition's map at most, 24 MB in memory. Above that, old runs are thinned.
RUNS_MAX = 1_000_000

# Sets the mark only if it is still this rebuild's own. A flush, or a carrier that dropped pieces,
# changes the mark; after a restart the new mark names the former run id. In each case another
# rebuild is due.
SET_WHOLE = """
if redis.call('GET', KEYS[1]) == ARGV[1] then
  redis.call('SET', KEYS[1], ARGV[2])
  return 1
end
return 0
"""


class WholeMark:
    """Values of the key that marks a route's runs in Redis as whole, or as not whole.

    A flush deletes the key. A restart changes the server's run id, and may have lost the last
    writes. A carrier that dropped pieces writes MISSED, and so does the keeper where it finds a
    hole. In all these cases the runs are read back from the topic.
    """

    MISSED = "missed"
    REBUILDING = "rebuilding "

    @staticmethod
    def name(route_key: str) -> str:
        return f"sluice:runs_whole:{route_key}"

    @staticmethod
    def whole(run_id: str) -> str:
        """Returns the mark of a server, named by its run id, that has all runs."""
        return f"whole {run_id}"

    @staticmethod
    def fault(mark: str | None, run_id: str) -> str | None:
        """Returns None when the mark says whole; else the reason, for people."""
        if mark is None:
            return "Redis was flushed, or never filled"
        if mark == WholeMark.MISSED:
            return "a carrier did not write all of its runs"
        if mark.startswith(WholeMark.REBUILDING):
            return "the runs are being read back, or that was broken off"
        return None if mark == WholeMark.whole(run_id) else "Redis was restarted"


def runs_name(route_key: str, key: RunsKey) -> str:
    """Returns the name of a partition's sorted set, which holds its runs under all losses."""
    return _runs_prefix(route_key) + encode_key(key.without_losses).decode()


class OffsetStore:
    """Runs of one route in Redis, for readers and for the daemon's maintenance."""

    def __init__(
        self,
        url: str,
        route_key: str,
        *,
        timeout_seconds: float = 5.0,
        runs_per_piece: int = RUNS_PER_PIECE,
    ) -> None:
        self._name = redis_name(url)
        self._route_key = route_key
        self._runs_per_piece = runs_per_piece
        self._redis: redis.Redis = redis.Redis.from_url(
            url, socket_timeout=timeout_seconds, socket_connect_timeout=timeout_seconds
        )

    def close(self) -> None:
        self._redis.close()

    def __enter__(self) -> "OffsetStore":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Reading

    def incomplete_reason(self) -> str | None:
        """Returns None when all published runs are here; else the reason to rebuild."""
        with self._reached():
            mark: Any = self._redis.get(WholeMark.name(self._route_key))
            return WholeMark.fault(mark.decode() if mark else None, self._run_id())

    def keys(self) -> list[RunsKey]:
        """Returns every partition with runs; the losses in these keys are always 0."""
        with self._reached():
            return [decode_key(name) for name in self._names(_runs_prefix(self._route_key))]

    def load(self, key: RunsKey) -> OffsetMap:
        """Returns the map of a partition, empty when nothing was published.

        `missing` of the map names the offsets that are not covered although later runs are here.
        The caller has to compare its source_end with the ledger. Raises RunsContradict when a loss
        happened that nobody accepted.
        """
        return joined(self._members(key))

    def pieces(self, keys: Iterable[RunsKey]) -> dict[RunsKey, dict[bytes, int]]:
        """Returns, by key, the packed pieces of these partitions with the losses before them.

        For readers that join only what they have not seen yet; see `joined`.
        """
        keys = list(keys)
        with self._reached(), self._redis.pipeline(transaction=False) as pipeline:
            for key in keys:
                pipeline.zrange(runs_name(self._route_key, key), 0, -1, withscores=True)
            answers = pipeline.execute()
        return {
            key: {piece: int(losses) for piece, losses in members}
            for key, members in zip(keys, answers, strict=True)
        }

    # Maintenance

    def maintain(self, key: RunsKey, target_log_start: int, runs_max: int = RUNS_MAX) -> OffsetMap:
        """Joins a partition's loose pieces, trims below the target's log start, keeps the cap.

        Returns the map after all losses. Cheap when there is little to do; carriers may append
        meanwhile.
        """
        members = self._members(key)
        maps = maps_by_losses(members)
        changed = False
        for offset_map in maps.values():
            before = len(offset_map), offset_map.trimmed
            offset_map.trim(target_log_start)
            offset_map.thin(runs_max)
            changed = changed or before != (len(offset_map), offset_map.trimmed)
        pieces = {
            pack(piece): losses
            for losses, offset_map in maps.items()
            for piece in offset_map.pieces(self._runs_per_piece)
        }
        if changed or len(members) > len(pieces) + LOOSE_PIECES_MAX:
            self._replace(key, members, pieces)
        return map_after_losses(maps)

    def mark_missed(self) -> None:
        """Marks runs as missing here, so that they are read back."""
        with self._reached():
            self._redis.set(WholeMark.name(self._route_key), WholeMark.MISSED)

    def rebuild(self, published: Iterator[tuple[RunsKey, Piece]]) -> bool:
        """Puts all runs of the runs topic into Redis (`published` is runs_topic.read).

        Only adds, so carriers go on meanwhile. Returns True once Redis has all runs and the mark
        says so. Returns False when something was lost meanwhile: rebuild again.
        """
        name, mine = WholeMark.name(self._route_key), WholeMark.REBUILDING + uuid.uuid4().hex
        with self._reached():
            run_id = self._run_id()
            self._redis.set(name, mine)
        # Read only now: a carrier that drops pieces from here on changes the mark.
        for portion in batched(published):
            with self._reached(), self._redis.pipeline(transaction=False) as pipeline:
                for key, pieces in portion.items():
                    packed = dict.fromkeys(packed_jointly(pieces), key.losses)
                    pipeline.zadd(runs_name(self._route_key, key), packed, gt=True)
                pipeline.execute()
        with self._reached():
            whole = WholeMark.whole(run_id)
            return bool(self._redis.eval(SET_WHOLE, 1, name, mine, whole))

    def copy(self, key: RunsKey, pieces: Iterable[bytes]) -> None:
        """Adds packed pieces published under the key's losses, for instance another region's."""
        found = dict.fromkeys(pieces, key.losses)
        if found:
            with self._reached():
                self._redis.zadd(runs_name(self._route_key, key), found, gt=True)

    def _names(self, prefix: str) -> Iterator[bytes]:
        """Yields the rest of every key that begins with a prefix."""
        for name in self._redis.scan_iter(match=_literal(prefix) + "*", count=1000):
            yield name[len(prefix.encode()) :]

    def _members(self, key: RunsKey) -> dict[bytes, int]:
        """Returns packed pieces with the losses they were published under."""
        return self.pieces([key])[key]

    def _replace(self, key: RunsKey, old: Iterable[bytes], new: dict[bytes, int]) -> None:
        name = runs_name(self._route_key, key)
        gone = [piece for piece in old if piece not in new]
        # One transaction: a reader sees the parts or their sum, never neither.
        with self._reached(), self._redis.pipeline(transaction=True) as pipeline:
            pipeline.zadd(name, new, gt=True)
            if gone:
                pipeline.zrem(name, *gone)
            pipeline.execute()

    def _run_id(self) -> str:
        answer: Any = self._redis.info("server")
        return str(answer["run_id"])

    def _reached(self) -> AbstractContextManager[None]:
        return reached(self._name, "carrying goes on without it")


def joined(pieces: Mapping[bytes, int]) -> OffsetMap:
    """Returns the map of packed pieces, given with the losses they were published under.

    Raises RunsContradict, UnknownVersion or BrokenPiece.
    """
    return map_after_losses(maps_by_losses(pieces))


def _runs_prefix(route_key: str) -> str:
    return f"sluice:runs:{route_key}:"


def _literal(text: str) -> str:
    """Returns the text as a SCAN pattern that matches only itself."""
    return "".join(f"\\{sign}" if sign in "*?[]\\^-" else sign for sign in text)


def maps_by_losses(members: Mapping[bytes, int]) -> dict[int, OffsetMap]:
    """Returns losses -> the map of the pieces published under them. Raises as `joined` does."""
    pieces: dict[int, list[Piece]] = {}
    for member, losses in members.items():
        pieces.setdefault(losses, []).append(unpack(member))
    maps: dict[int, OffsetMap] = {}
    for losses, some in pieces.items():
        maps[losses] = OffsetMap()
        maps[losses].join(some)
    return maps


def map_after_losses(maps: Mapping[int, OffsetMap]) -> OffsetMap:
    """Returns the map that holds after all losses."""
    found = OffsetMap()
    for _, newer in sorted(maps.items()):
        found.join_newer(newer)
    return found


def packed_jointly(pieces: list[Piece]) -> list[bytes]:
    """Returns the same pieces as bytes, joined into few where they agree."""
    offset_map = OffsetMap()
    try:
        offset_map.join(pieces)
        pieces = list(offset_map.pieces(RUNS_PER_PIECE))
    except RunsContradict:
        # Not for the rebuild to judge: loading this map raises the contradiction.
        pass
    return [pack(piece) for piece in pieces]

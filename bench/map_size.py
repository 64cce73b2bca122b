"""Size of the offset map in a region's Redis, by route, per run and per million records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from redis import Redis

from replicator.mirror.offset_map.offset_store import OffsetStore, runs_name
from replicator.mirror.offset_map.packed_map import pack


@dataclass(frozen=True, slots=True)
class MapSize:
    """Map of one route, all partitions together; bytes as counted by MEMORY USAGE."""

    route: str
    partitions: int
    records: int
    runs: int
    state_bytes: int
    packed_bytes: int
    """Size of the runs alone, packed after all pieces are joined."""

    def to_json(self) -> dict[str, Any]:
        return {
            "route": self.route,
            "partitions": self.partitions,
            "records": self.records,
            "runs": self.runs,
            "state_bytes": self.state_bytes,
            "packed_bytes": self.packed_bytes,
            "records_per_run": round(self.records / max(1, self.runs), 2),
            "bytes_per_run": round(self.state_bytes / max(1, self.runs), 2),
            "packed_bytes_per_run": round(self.packed_bytes / max(1, self.runs), 2),
            "bytes_per_million_records": round(self.state_bytes * 1e6 / max(1, self.records)),
        }


def map_size(url: str, route_key: str, topic: str) -> MapSize:
    """Returns the size for one topic after joining its pieces, as the daemon does periodically."""
    records = runs = state_bytes = packed_bytes = partitions = 0
    with OffsetStore(url, route_key) as store, Redis.from_url(url) as redis:
        keys = store.keys()
        for key in (each for each in keys if each.topic == topic):
            found = store.maintain(key, target_log_start=0)
            piece = found.piece()
            partitions += 1
            runs += len(found)
            packed_bytes += len(pack(piece))
            records += int(piece.counts.sum())
            used: Any = redis.memory_usage(runs_name(route_key, key), samples=0)
            state_bytes += int(used or 0)
    return MapSize(route_key, partitions, records, runs, state_bytes, packed_bytes)

"""Maintenance of a region's offset maps: joins them, and trims them where its logs begin now.

The same for that region's own Redis and for the copies of its runs in other regions. Only the
region itself knows where its logs begin.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple
from uuid import UUID

from balancer.topic_partition import TopicPartition
from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Region
from replicator.kafka.admin.admin import Admin
from replicator.mirror.offset_map.offset_store import OffsetStore
from replicator.mirror.offset_map.run_columns import RunsContradict
from replicator.mirror.offset_map.runs_topic import RunsKey
from replicator.mirror.offset_map.spans import Spans


class MaintainedMap(NamedTuple):
    """Offsets that one partition's map misses, or the reason why it could not be joined."""

    key: RunsKey
    missing: Spans
    contradiction: RunsContradict | None = None


class MapMaintenance:
    """Maintains the maps of one target region. Blocking.

    Args:
        admin: of the region's aggregate; None makes one.
    """

    def __init__(self, region: Region, admin: Admin | None = None) -> None:
        self._admin = admin or Admin(ClusterName.aggregate(region.name), region.aggregate)

    def maintain(self, store: OffsetStore) -> list[MaintainedMap]:
        """Maintains every map of a route into the region, in the Redis of this store.

        Raises AdminError or StoreUnreachable; UnknownVersion or BrokenPiece for what is stored
        there.
        """
        keys = store.keys()
        starts = self._log_starts(keys)
        # Without a log start (the topic is gone) there is nothing to trim.
        return [_maintained(store, key, starts.get(key, 0)) for key in keys]

    def _log_starts(self, keys: Iterable[RunsKey]) -> dict[RunsKey, int]:
        """Returns the target's log starts, for partitions whose topic is still the mapped one."""
        ids = {topic.name: topic.topic_id for topic in self._admin.topics({k.topic for k in keys})}
        alive = {
            key: TopicPartition(key.topic, key.partition)
            for key in keys
            if _is_id(key.target_topic_id, ids.get(key.topic))
        }
        starts = self._admin.offsets(set(alive.values()), "earliest")
        return {key: starts[place] for key, place in alive.items() if place in starts}


def _maintained(store: OffsetStore, key: RunsKey, target_log_start: int) -> MaintainedMap:
    try:
        return MaintainedMap(key, store.maintain(key, target_log_start).missing)
    except RunsContradict as contradiction:
        return MaintainedMap(key, Spans(), contradiction)


def _is_id(recorded: str, current: UUID | None) -> bool:
    return current is not None and recorded == current.hex

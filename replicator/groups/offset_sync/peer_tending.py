"""Maintenance of the copies of a region's runs in another region's Redis.

Only the region itself knows where its logs begin.
"""

from __future__ import annotations

from replicator.config.topology import Appliance
from replicator.groups.offset_sync.passes import PassFailed
from replicator.mirror.offset_map.map_maintenance import MapMaintenance
from replicator.mirror.offset_map.offset_store import OffsetStore
from replicator.mirror.offset_map.packed_map import BrokenPiece, UnknownVersion


class PeerTending:
    """Maintenance of one region's runs in one other region's Redis. Blocking."""

    def __init__(self, appliance: Appliance, region: str, peer: str) -> None:
        self._maintenance = MapMaintenance(appliance.region(region))
        self._routes = appliance.routes_into(region)
        self._url = appliance.region(peer).redis_url()

    def once(self) -> None:
        """Joins and trims all maps. Raises AdminError, StoreUnreachable or PassFailed."""
        troubles: list[str] = []
        for route in self._routes:
            try:
                with OffsetStore(self._url, route.key) as store:
                    troubles += [
                        f"{route} {key.topic}-{key.partition}: runs contradict each other: {why}"
                        for key, _, why in self._maintenance.maintain(store)
                        if why
                    ]
            except (BrokenPiece, UnknownVersion) as error:
                troubles.append(f"{route}: {error}")
        if troubles:
            more = f", and {len(troubles) - 1} more" if len(troubles) > 1 else ""
            raise PassFailed(f"{troubles[0]}{more}")

"""Reports and totals of carriers in the target region's Redis, for people and metrics. Never the
truth.

    sluice:reports:<route>    expiring values (expiring_values.py): a carrier's last reports
    sluice:totals:<route>     expiring values: what one carrier has counted since it started
"""

from __future__ import annotations

from collections.abc import Sequence

from replicator.mirror.offset_map import totals
from replicator.mirror.offset_map.reports import PartitionReport, latest, unpacked
from replicator.mirror.offset_map.totals import CarrierTotals
from replicator.runtime import expiring_values
from replicator.runtime.redis_store import RedisStore
from replicator.runtime.store_errors import reached

Reports = dict[tuple[str, str, int], PartitionReport]
"""Newest report of each (route, topic, partition)."""


def reports_index(route_key: str) -> str:
    """Returns the index of a route's reports; its members are the numbers of carriers."""
    return f"sluice:reports:{route_key}"


def totals_index(route_key: str) -> str:
    """Returns the index of a route's totals; its members are ids of carriers."""
    return f"sluice:totals:{route_key}"


class CarrierReports(RedisStore):
    """Reports and totals of carriers in one Redis. Blocking, for readers."""

    def reports(self, route_keys: Sequence[str]) -> list[Reports]:
        """Returns the reports of each route that have not expired.

        Raises StoreUnreachable, or ValueError when they have another form.
        """
        return [
            latest(report for text in found.values() for report in unpacked(text))
            for found in self._read([reports_index(key) for key in route_keys])
        ]

    def totals(self, route_keys: Sequence[str]) -> list[dict[str, CarrierTotals]]:
        """Returns the totals of each route's carriers by id. Raises as `reports` does."""
        return [
            {member: totals.unpacked(text) for member, text in found.items()}
            for found in self._read([totals_index(key) for key in route_keys])
        ]

    def _read(self, indexes: Sequence[str]) -> list[dict[str, bytes]]:
        with reached(self.name, "carrying goes on without it"):
            return expiring_values.read(self._redis, indexes)

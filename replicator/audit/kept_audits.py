"""Verdicts of audits in the target region's Redis: the last ones of each route.

sluice:audits:<route>    list, the newest first, AUDITS_KEPT at most: JSON of a KeptAudit
"""

from __future__ import annotations

from typing import Any

from replicator.audit.kept_audit import KeptAudit, readable
from replicator.config.topology import Route
from replicator.runtime.redis_store import RedisStore
from replicator.runtime.store_errors import reached

AUDITS_KEPT = 200


class KeptAudits(RedisStore):
    """Kept audits of one Redis. Blocking; every method raises StoreUnreachable."""

    def keep(self, route: Route, audit: KeptAudit) -> None:
        """Adds an audit, and drops those above AUDITS_KEPT."""
        with reached(self.name), self._redis.pipeline(transaction=True) as pipeline:
            pipeline.lpush(_name(route), audit.to_json())
            pipeline.ltrim(_name(route), 0, AUDITS_KEPT - 1)
            pipeline.execute()

    def of(self, route: Route, count: int = AUDITS_KEPT) -> list[KeptAudit]:
        """Returns the last audits of a route, the newest first; see `readable`."""
        with reached(self.name):
            found: Any = self._redis.lrange(_name(route), 0, count - 1)
        return list(readable(found))


def _name(route: Route) -> str:
    return f"sluice:audits:{route.key}"

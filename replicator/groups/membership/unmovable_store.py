"""Groups that no plan moves, by region, as each region last published them in one Redis.

    sluice:unmovable:<region>       JSON: the time, and group -> type

The key does not expire: a plan is made when the region is lost.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from replicator.kafka.tail.stored_positions import text
from replicator.runtime.redis_store import RedisStore
from replicator.runtime.store_errors import reached


class UnmovableStore(RedisStore):
    """Groups that no plan moves, in one Redis."""

    def __init__(self, url: str, *, timeout_seconds: float = 5.0) -> None:
        super().__init__(url, timeout_seconds=timeout_seconds)

    def publish(self, region: str, groups: Mapping[str, str], now_ms: int) -> None:
        """Publishes that these groups of a region, and no others, are not moved.

        Args:
            groups: group -> type.

        Raises StoreUnreachable.
        """
        published = text({"at_ms": now_ms, "groups": dict(sorted(groups.items()))})
        with reached(self.name):
            self._redis.set(_key(region), published)

    def get(self, region: str) -> dict[str, str] | None:
        """Returns the groups that a region last published; None: it never did.

        Raises StoreUnreachable.
        """
        with reached(self.name):
            found: Any = self._redis.get(_key(region))
        if found is None:
            return None
        groups = json.loads(found)["groups"]
        return {str(name): str(type_) for name, type_ in groups.items()}


def _key(region: str) -> str:
    return f"sluice:unmovable:{region}"

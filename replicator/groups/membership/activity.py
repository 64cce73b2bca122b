"""Groups with members, region by region, as each region last published them in one Redis.

    sluice:active               set: the regions that ever published
    sluice:active:<region>      what the region published, expiring

Nothing is known of a region that has published nothing for FRESH_SECONDS. A region without groups
publishes an empty list, which distinguishes it from a lost region.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from replicator.kafka.tail.stored_positions import text
from replicator.runtime.redis_store import RedisStore
from replicator.runtime.store_errors import reached

FRESH_SECONDS = 15
REGIONS = "sluice:active"


class ActivityStore(RedisStore):
    """Groups with members in one Redis, for the daemon of each region and for readers."""

    def __init__(self, url: str, *, timeout_seconds: float = 2.0) -> None:
        super().__init__(url, timeout_seconds=timeout_seconds)

    def publish(self, region: str, groups: Iterable[str], now_ms: int) -> None:
        """Publishes that these groups of a region have members, and no others.

        Raises StoreUnreachable.
        """
        published = text({"at_ms": now_ms, "groups": sorted(groups)})
        with reached(self.name), self._redis.pipeline(transaction=True) as pipeline:
            pipeline.sadd(REGIONS, region)
            pipeline.set(_key(region), published, ex=FRESH_SECONDS)
            pipeline.execute()

    def active(self, now_ms: int) -> dict[str, frozenset[str]]:
        """Returns groups with members by region; regions that published nothing lately are left
        out.

        Raises StoreUnreachable.
        """
        with reached(self.name):
            members: Any = self._redis.smembers(REGIONS)
            names = sorted(member.decode() for member in members)
            texts: Any = self._redis.mget([_key(name) for name in names]) if names else []
        known = {name: json.loads(it) for name, it in zip(names, texts, strict=True) if it}
        return {
            name: frozenset(it["groups"])
            for name, it in known.items()
            # Measured from the publishing region's time: the value may have been under way for
            # longer than it has been in this Redis.
            if now_ms - it["at_ms"] < FRESH_SECONDS * 1000
        }


def _key(region: str) -> str:
    return f"{REGIONS}:{region}"

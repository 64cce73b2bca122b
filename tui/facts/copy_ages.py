"""Ages of the copies of other regions' logs in one region's Redis."""

from __future__ import annotations

from collections.abc import Iterable

from replicator.config.topology import Appliance
from replicator.kafka.tail.stored_positions import Positions
from replicator.runtime.redis_store import RedisStore


def logs_of(appliance: Appliance, source: str) -> tuple[str, ...]:
    """Returns the logs of a region that a failover out of it needs: its commits, and the runs of
    the routes into it."""
    runs = (f"runs:{route.key}" for route in appliance.routes_into(source))
    return f"commits:{source}", *runs


class CopyAges(RedisStore):
    """Ages in one Redis. Blocking; raises StoreUnreachable."""

    def copied_up_to(self, logs: Iterable[str], now_ms: int) -> int | None:
        """Returns the time up to which all of these logs are copied, in Unix milliseconds.

        None: not known of one of them, or there are none.

        Args:
            now_ms: time before the question.
        """
        ages = [Positions(self._redis, self.name, log).age(now_ms) for log in logs]
        known = [age for age in ages if age is not None]
        return now_ms - max(known) if known and len(known) == len(ages) else None

"""Status board: the keys in a region's Redis that show what its driver and balancer do.

    sluice:plan:<region>       the driver's active plan; one value, expiring
    sluice:balance:<region>    hash: "<route key>/<stream>" -> the balancer's last round

The board is not authoritative: a missing key means only that nobody reports. The authoritative
state is in the topic sluice.balance and in the driver command.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any

import redis
from pydantic import ValidationError

from replicator.orders.active_plan import ActivePlan
from replicator.orders.round_status import RoundStatus
from replicator.runtime.store_errors import reached, redis_name

EXPIRE_SECONDS = 30
TIMEOUT_SECONDS = 5.0


class StatusBoard:
    """Status board of one region. Blocking; every method except `close` raises StoreUnreachable."""

    def __init__(self, url: str, region: str, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        self._name = redis_name(url)
        self._plan, self._rounds = f"sluice:plan:{region}", f"sluice:balance:{region}"
        self._last: tuple[bytes, ActivePlan | None] = b"", None
        self._redis: redis.Redis = redis.Redis.from_url(
            url, socket_timeout=timeout_seconds, socket_connect_timeout=timeout_seconds
        )

    def show_plan(self, in_force: ActivePlan) -> None:
        """Publishes the driver's active plan for EXPIRE_SECONDS."""
        with self._reached():
            self._redis.set(self._plan, in_force.to_json(), ex=EXPIRE_SECONDS)

    def plan(self) -> ActivePlan | None:
        """Returns the active plan, or None if no driver reports one.

        The returned object stays the same as long as nothing changes. Raises ValueError if another
        version of Sluice wrote the value.
        """
        with self._reached():
            text: Any = self._redis.get(self._plan)
        if text is None:
            return None
        # Read twice a second, and rarely different. Parsing is costly: a large plan takes
        # megabytes.
        if text != self._last[0]:
            self._last = text, ActivePlan.from_json(text)
        return self._last[1]

    def show_rounds(self, statuses: Iterable[RoundStatus]) -> None:
        """Replaces the statuses of all streams."""
        fields: dict[Any, Any] = {
            f"{it.route}/{it.stream}": it.model_dump_json() for it in statuses
        }
        with self._reached(), self._redis.pipeline(transaction=True) as pipeline:
            pipeline.delete(self._rounds)
            if fields:
                pipeline.hset(self._rounds, mapping=fields)
            pipeline.execute()

    def rounds(self) -> list[RoundStatus]:
        """Returns the statuses sorted by route and stream. Leaves out those that another version of
        Sluice wrote."""
        with self._reached():
            found: Any = self._redis.hgetall(self._rounds)
        statuses = []
        for _, text in sorted(found.items()):
            try:
                statuses.append(RoundStatus.model_validate_json(text))
            except ValidationError:
                continue
        return statuses

    def close(self) -> None:
        self._redis.close()

    def _reached(self) -> AbstractContextManager[None]:
        return reached(self._name, "carrying goes on without it")

"""Anomaly board: the last findings of a region's verifier, in its Redis, for a console.

    sluice:anomalies:<region>    list of JSON objects, the newest first

The board is not authoritative: the log of the verifier has every finding.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from replicator.runtime.redis_store import RedisStore
from replicator.runtime.store_errors import reached

ROWS_MAX = 200
TIMEOUT_SECONDS = 2.0


class AnomalyBoard(RedisStore):
    """Board of one region. Blocking; both methods raise StoreUnreachable."""

    def __init__(self, url: str, region: str, *, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        super().__init__(url, timeout_seconds=timeout_seconds)
        self._key = f"sluice:anomalies:{region}"

    def add(self, rows: Sequence[dict[str, Any]]) -> None:
        """Adds rows, the newest last; the oldest of more than ROWS_MAX are dropped."""
        with reached(self.name), self._redis.pipeline(transaction=True) as pipeline:
            pipeline.lpush(self._key, *(json.dumps(row) for row in rows))
            pipeline.ltrim(self._key, 0, ROWS_MAX - 1)
            pipeline.execute()

    def recent(self) -> list[dict[str, Any]]:
        """Returns the rows, the newest first."""
        with reached(self.name):
            found: Any = self._redis.lrange(self._key, 0, -1)
        return [json.loads(row) for row in found]

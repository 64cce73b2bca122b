"""Acknowledgements of alerts in a region's Redis.

sluice:alerts:<region>    hash: JSON of an Acknowledgement by the key of its alert

Only operators write here. A flush of Redis opens all alerts again.
"""

from __future__ import annotations

import logging
from typing import Any

from replicator.notices.acknowledgement import Acknowledgement
from replicator.runtime.redis_store import RedisStore
from replicator.runtime.report_once import ReportOnce
from replicator.runtime.store_errors import reached

log = logging.getLogger(__name__)

KEPT_MAX = 1000


class AcknowledgementStore(RedisStore):
    """Acknowledgements of one region. Blocking; every method raises StoreUnreachable."""

    def __init__(self, url: str, region: str, *, timeout_seconds: float = 5.0) -> None:
        super().__init__(url, timeout_seconds=timeout_seconds)
        self._key = f"sluice:alerts:{region}"
        self._reports = ReportOnce()

    def read(self) -> list[Acknowledgement]:
        """Returns all acknowledgements, the oldest first; those that are over too.

        One that cannot be read is left out, and logged.
        """
        with reached(self.name):
            texts: Any = self._redis.hgetall(self._key)
        found = []
        for key, text in texts.items():
            try:
                found.append(Acknowledgement.from_json(text))
            except ValueError as error:
                if self._reports.is_news(key, str(error)):
                    log.warning("event=notice-unreadable %s %r: %s", self._key, key, error)
        return sorted(found, key=lambda each: (each.at_ms, each.key))

    def put(self, given: Acknowledgement) -> None:
        """Sets the acknowledgement of an alert; drops what is over, and the oldest of too many."""
        before = [each for each in self.read() if each.key != given.key]
        over = [each.key for each in before if each.is_over(given.at_ms)]
        kept = [each.key for each in before if each.key not in over]
        dropped = over + kept[: max(0, len(kept) + 1 - KEPT_MAX)]
        with reached(self.name), self._redis.pipeline(transaction=True) as pipeline:
            pipeline.hset(self._key, given.key, given.to_json())
            if dropped:
                pipeline.hdel(self._key, *dropped)
            pipeline.execute()

    def withdraw(self, key: str) -> bool:
        """Withdraws the acknowledgement of an alert; returns False where there is none."""
        with reached(self.name):
            return bool(self._redis.hdel(self._key, key))

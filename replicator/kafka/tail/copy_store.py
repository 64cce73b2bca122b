"""Copy of a Kafka log in a Redis, with the positions up to which it is there."""

from __future__ import annotations

from replicator.kafka.tail.stored_positions import Positions
from replicator.kafka.tail.tail_position import TailPosition
from replicator.runtime.redis_store import RedisStore


class CopyStore(RedisStore):
    """Base of copies.

    Args:
        log: the log's name in the keys of its positions, such as "commits:west".
    """

    def __init__(self, url: str, log: str, *, timeout_seconds: float = 5.0) -> None:
        super().__init__(url, timeout_seconds=timeout_seconds)
        self._positions = Positions(self._redis, self.name, log)

    def position(self) -> dict[int, TailPosition]:
        """Returns the position up to which each partition of the log is here."""
        return self._positions.get()

    def age(self, now_ms: int) -> int | None:
        """Returns an age in ms: all records published that long ago are here; None: not known."""
        return self._positions.age(now_ms)

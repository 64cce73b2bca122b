"""Store in a Redis: its client, and its name in messages."""

from __future__ import annotations

from typing import Self

import redis

from replicator.runtime.store_errors import redis_name


class RedisStore:
    """Base of stores in one Redis; a context manager that closes the connection.

    Args:
        timeout_seconds: for connecting, and for each answer.
    """

    def __init__(self, url: str, *, timeout_seconds: float = 5.0) -> None:
        self.name = redis_name(url)
        self._redis: redis.Redis = redis.Redis.from_url(
            url, socket_timeout=timeout_seconds, socket_connect_timeout=timeout_seconds
        )

    def close(self) -> None:
        self._redis.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

"""A store that does not answer: the one error of all of them, and how a Redis is named in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit, urlunsplit

import redis


class StoreUnreachable(Exception):
    """Redis does not answer, or the ClickHouse that keeps traffic's history. Wait: carrying goes
    on, and the runs topic keeps every run."""


def redis_name(url: str) -> str:
    """A Redis as messages name it: by its address, without the password."""
    parts = urlsplit(url)
    shown = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query=""))
    return f"Redis at {shown}"


@contextmanager
def reached(name: str, meanwhile: str = "") -> Iterator[None]:
    """Raises StoreUnreachable for what goes wrong with a Redis.

    Args:
        name: see redis_name.
        meanwhile: what goes on without it, for the operator.
    """
    try:
        yield
    except redis.RedisError as error:
        told = [f"{name}: {error}", meanwhile]
        raise StoreUnreachable("; ".join(filter(None, told))) from error

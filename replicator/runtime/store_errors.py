"""Error of a store that does not answer, and the name of a Redis in messages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit, urlunsplit

import redis


class StoreUnreachable(Exception):
    """Redis does not answer, or the ClickHouse that keeps the history of traffic.

    Wait: carrying goes on, and the runs topic keeps every run.
    """


def redis_name(url: str) -> str:
    """Returns the name of a Redis for messages: its address without the password."""
    parts = urlsplit(url)
    shown = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query=""))
    return f"Redis at {shown}"


class StoreForbidden(StoreUnreachable):
    """Redis answers, but the user lacks the right. Grant it."""


@contextmanager
def reached(name: str, meanwhile: str = "") -> Iterator[None]:
    """Turns the errors of a Redis into StoreUnreachable.

    Args:
        name: see redis_name.
        meanwhile: what goes on without this Redis, for the operator.
    """
    try:
        yield
    except redis.RedisError as error:
        told = [f"{name}: {error}", meanwhile]
        is_forbidden = isinstance(error, redis.exceptions.NoPermissionError)
        kind = StoreForbidden if is_forbidden else StoreUnreachable
        raise kind("; ".join(filter(None, told))) from error

"""Values in Redis that expire, with an index of those that have not, so that nobody scans Redis.

    <index>             sorted set: members, by the time at which their values expire
    <index>:<member>    the value of a member, expiring

All times are of the Redis server, in Unix milliseconds. Any client, also an asynchronous one or a
pipeline, may write: what it returns is passed on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import redis

PUT = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
redis.call('ZADD', KEYS[1], now + ARGV[3], ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
local last = redis.call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')
redis.call('PEXPIREAT', KEYS[1], last[2])
"""
WITHDRAW = """
redis.call('DEL', KEYS[2])
redis.call('ZREM', KEYS[1], ARGV[1])
"""


def put(client: Any, index: str, member: str, value: str, expire_ms: int) -> Any:
    """Sets the value of a member for so long."""
    return client.eval(PUT, 2, index, _name(index, member), member, value, expire_ms)


def withdraw(client: Any, index: str, member: str) -> Any:
    """Removes a member and its value."""
    return client.eval(WITHDRAW, 2, index, _name(index, member), member)


def read(client: redis.Redis, indexes: Sequence[str]) -> list[dict[str, bytes]]:
    """Returns the values of each index by member, in two round trips for all of them.

    Those that expire first come first: where all are put for as long, those that were put first.
    Values that expire meanwhile are left out. Raises redis.RedisError.
    """
    with client.pipeline(transaction=False) as pipeline:
        for index in indexes:
            pipeline.zrange(index, 0, -1)
        members = [[each.decode() for each in found] for found in pipeline.execute()]
    names = [
        _name(index, member)
        for index, some in zip(indexes, members, strict=True)
        for member in some
    ]
    answers: Any = client.mget(names) if names else []
    values = iter(answers)
    return [
        {member: value for member in some if (value := next(values)) is not None}
        for some in members
    ]


def _name(index: str, member: str) -> str:
    return f"{index}:{member}"

"""How far a followed log is in a Redis, kept there beside what was read of it.

    sluice:read:<log>        hash: partition of the log -> its Position
    sluice:read_age:<log>    hash: the same -> [era, when all that was there was read]

A portion is taken only where it goes on from what is here: whoever was flushed, or restored from
yesterday, says so, and nothing is missed in between. Of a partition that is not known here, the
first thing taken is where its reading begins. All of a topic's partitions are told so at once, and
with them all it is known for which of them an age is missing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import redis

from replicator.copies.followed import Portion, Position, of_today
from replicator.offsets.store_unreachable import reached

PRELUDE = """
local positions, ages = KEYS[1], KEYS[2]
local behind = {}

local function version(value)
  local era, offset = string.match(value, '^%[(%d+),(%d+)')
  return tonumber(era), tonumber(offset)
end

local function is_larger(value, other)
  if not other then return true end
  local era, offset = version(value)
  local other_era, other_offset = version(other)
  return era > other_era or (era == other_era and offset > other_offset)
end

local function goes_on(stored, begin, says_more)
  if not stored then return begin.offset == 0 and not says_more end
  if begin.era == stored.era then
    return begin.topic_id == stored.topic_id and begin.offset <= stored.offset
  end
  return begin.offset == 0 and begin.era > stored.era
end

local function position(text)
  local fields = cjson.decode(text)
  return {topic_id = fields[1], era = fields[2], offset = fields[3]}
end

local function take(portion)
  local number = portion.partition
  local text = redis.call('HGET', positions, number)
  local stored = text and position(text)
  local reached = position(portion.reached)
  local says_more = portion.begin ~= portion.reached or portion.age ~= ''
  if not goes_on(stored, position(portion.begin), says_more) then
    table.insert(behind, tonumber(number))
    return false
  end
  if not stored or reached.era > stored.era or reached.offset > stored.offset then
    redis.call('HSET', positions, number, portion.reached)
  end
  if portion.age ~= '' and is_larger(portion.age, redis.call('HGET', ages, number)) then
    redis.call('HSET', ages, number, portion.age)
  end
  return true
end
"""
"""Begins every script that puts portions, so that no position is ever here without what was read
before it. take() says whether a portion goes on; the script puts what that one told, and returns
`behind`."""


class StoreBehind(Exception):
    """What was put does not go on from what the store has. Go on from its position()."""


class Positions:
    """Of one log in one Redis."""

    def __init__(self, client: redis.Redis, name: str, log: str) -> None:
        """`name` is the server's, for people; `log` the log's, in the keys: "commits:west"."""
        self._redis = client
        self._name = name
        self._positions = f"sluice:read:{log}"
        self._ages = f"sluice:read_age:{log}"

    @property
    def keys(self) -> list[str]:
        """The first KEYS of a script."""
        return [self._positions, self._ages]

    def get(self) -> dict[int, Position]:
        """Up to where each partition of the log is in here."""
        with reached(self._name):
            texts: Any = self._redis.hgetall(self._positions)
        return _positions(texts)

    def age(self, now_ms: int) -> int | None:
        """How many ms ago it was that all the log held at that time is in here.

        None: not known, because the log is being read for the first time, or anew. What is here may
        then be older than what was here before.
        """
        with reached(self._name), self._redis.pipeline(transaction=True) as pipeline:
            pipeline.hgetall(self._positions)
            pipeline.hgetall(self._ages)
            texts, ages = pipeline.execute()
        positions = _positions(texts)
        oldest = now_ms
        for number, position in of_today(positions).items():
            era, caught_up_ms = json.loads(ages.get(b"%d" % number, b"[-1,0]"))
            if era != position.era:
                return None
            oldest = min(oldest, caught_up_ms)
        return now_ms - oldest if positions else None

    def raise_if(self, behind: list[int]) -> None:
        """Raises StoreBehind for what a script returned."""
        if behind:
            raise StoreBehind(
                f"{self._name} does not have what came before, in partitions {sorted(behind)}"
            )


def header(number: int, portion: Portion[Any]) -> dict[str, str]:
    """A portion as take() wants it, to which the script's own part is added."""
    caught_up_ms = portion.caught_up_ms
    return {
        "partition": str(number),
        "begin": text(portion.begin),
        "reached": text(portion.end),
        "age": "" if caught_up_ms is None else text((portion.end.era, caught_up_ms)),
    }


def _positions(texts: Mapping[bytes, bytes]) -> dict[int, Position]:
    return {int(number): Position(*json.loads(text)) for number, text in texts.items()}


def text(value: object) -> str:
    """Compact JSON: scripts look for versions at its beginning."""
    return json.dumps(value, separators=(",", ":"))

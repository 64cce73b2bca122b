"""Positions of a tailed log in a Redis, stored there beside what was read of the log.

    sluice:read:<log>        hash: partition of the log -> its TailPosition.
    sluice:read_age:<log>    hash: partition of the log -> [era, caught_up_ms].

A portion is taken only where it continues from the stored position. A Redis that was flushed, or
restored from yesterday, therefore refuses it, and nothing is missed in between. For a partition
without a position, the first portion taken is the beginning of its reading. The beginnings of all
partitions of a topic are put at once; from then on it is known for which of them an age is missing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import redis

from replicator.kafka.tail.tail_position import Portion, TailPosition, of_today
from replicator.runtime.store_errors import reached

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
"""First part of every script that puts portions: positions are stored only with what was read.

take() returns true when a portion continues from the stored position. The script puts the records
of such portions, and returns `behind`, the partitions of all others.
"""


class StoreBehind(Exception):
    """A portion does not continue from what the store has. Go on from the store's position()."""


class Positions:
    """Positions and ages of one log in one Redis."""

    def __init__(self, client: redis.Redis, name: str, log: str) -> None:
        """Takes the server's name for people, and the log's name in the keys: "commits:west"."""
        self._redis = client
        self._name = name
        self._positions = f"sluice:read:{log}"
        self._ages = f"sluice:read_age:{log}"

    @property
    def keys(self) -> list[str]:
        """First KEYS of a script."""
        return [self._positions, self._ages]

    def get(self) -> dict[int, TailPosition]:
        """Returns the position up to which each partition of the log is here."""
        with reached(self._name):
            texts: Any = self._redis.hgetall(self._positions)
        return _positions(texts)

    def age(self, now_ms: int) -> int | None:
        """Returns an age in ms: everything that the log held that long ago is here.

        None: not known, because the log is being read for the first time, or anew. The copies may
        then be older than they were before.
        """
        # No transaction, which a reader's user may lack the right to. Ages come first: a copy that
        # goes on between the two only makes the answer older, or unknown.
        with reached(self._name), self._redis.pipeline(transaction=False) as pipeline:
            pipeline.hgetall(self._ages)
            pipeline.hgetall(self._positions)
            ages, texts = pipeline.execute()
        positions = _positions(texts)
        oldest = now_ms
        for number, position in of_today(positions).items():
            era, caught_up_ms = json.loads(ages.get(b"%d" % number, b"[-1,0]"))
            if era != position.era:
                return None
            oldest = min(oldest, caught_up_ms)
        return now_ms - oldest if positions else None

    def raise_if(self, behind: list[int]) -> None:
        """Raises StoreBehind for the partitions that a script returned."""
        if behind:
            raise StoreBehind(
                f"{self._name} does not have what came before, in partitions {sorted(behind)}"
            )


def header(number: int, portion: Portion[Any]) -> dict[str, str]:
    """Returns a portion as take() expects it; the script's own fields are added to it."""
    caught_up_ms = portion.caught_up_ms
    return {
        "partition": str(number),
        "begin": text(portion.begin),
        "reached": text(portion.end),
        "age": "" if caught_up_ms is None else text((portion.end.era, caught_up_ms)),
    }


def _positions(texts: Mapping[bytes, bytes]) -> dict[int, TailPosition]:
    return {int(number): TailPosition(*json.loads(text)) for number, text in texts.items()}


def text(value: object) -> str:
    """Returns compact JSON: scripts look for versions at its beginning."""
    return json.dumps(value, separators=(",", ":"))

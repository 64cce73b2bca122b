"""Primary regions of groups in one Redis, as it has received them from all regions.

    sluice:primary      hash: group -> the record that counts (primary_region.py)

Every write is a join, so records may arrive late, twice or from two regions. Flushed records come
again from the regions' topics (primary_log.py); until then groups are missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from replicator.groups.membership.primary_reader import PrimaryReader
from replicator.groups.membership.primary_region import PrimaryRegion, encode, joined
from replicator.kafka.tail.stored_positions import PRELUDE, Positions, header, text
from replicator.kafka.tail.tail_position import Portion, TailPosition
from replicator.runtime.redis_store import RedisStore
from replicator.runtime.store_errors import reached

KEY = "sluice:primary"

# The same order as primary_region.newer(). Lua in Redis compares strings by the machine's locale,
# so is_later() compares bytes.
JOIN = """
local function rank(value)
  local ok, fields = pcall(cjson.decode, value)
  if not ok or type(fields) ~= 'table' then fields = {} end
  local region = type(fields.region) == 'string' and fields.region or ''
  return tonumber(fields.generation) or -1, tonumber(fields.at_ms) or -1, region
end

local function is_later(one, other)
  for at = 1, math.min(#one, #other) do
    local left, right = string.byte(one, at), string.byte(other, at)
    if left ~= right then return left > right end
  end
  return #one > #other
end

local function is_newer(value, before)
  local generation, at_ms, region = rank(value)
  local generation_before, at_ms_before, region_before = rank(before)
  if generation ~= generation_before then return generation > generation_before end
  if at_ms ~= at_ms_before then return at_ms > at_ms_before end
  if region ~= region_before then return is_later(region, region_before) end
  return is_later(value, before)
end

local function join(hash, group, value)
  local before = redis.call('HGET', hash, group)
  if not before or is_newer(value, before) then redis.call('HSET', hash, group, value) end
end
"""

# KEYS: the hash. ARGV: group, record, group, record ...
WRITE = (
    JOIN
    + """
for at = 1, #ARGV, 2 do join(KEYS[1], ARGV[at], ARGV[at + 1]) end
"""
)

# KEYS: positions, ages, the hash.
PUT = (
    PRELUDE
    + JOIN
    + """
for _, portion in ipairs(cjson.decode(ARGV[1])) do
  if take(portion) then
    for _, told in ipairs(portion.records) do join(KEYS[3], told[1], told[2]) end
  end
end
return behind
"""
)

RECORDS_PER_WRITE = 1000


class PrimaryStore(RedisStore):
    """Primary region records in one Redis."""

    def __init__(self, url: str, *, timeout_seconds: float = 5.0) -> None:
        super().__init__(url, timeout_seconds=timeout_seconds)
        self._write = self._redis.register_script(WRITE)
        self._reader = PrimaryReader(self.name)

    def all(self) -> dict[str, PrimaryRegion]:
        """Returns the record of each group that has one. Raises StoreUnreachable."""
        with reached(self.name):
            texts: Any = self._redis.hgetall(KEY)
        records = (self._reader.read(value, f"{KEY} {group}") for group, value in texts.items())
        return {record.group: record for record in records if record is not None}

    def get(self, group: str) -> PrimaryRegion | None:
        """Returns the record of one group, None without one. Raises StoreUnreachable."""
        with reached(self.name):
            value: Any = self._redis.hget(KEY, group)
        return None if value is None else self._reader.read(value, f"{KEY} {group!r}")

    def write(self, records: Iterable[PrimaryRegion]) -> None:
        """Joins records with those in Redis. Raises StoreUnreachable."""
        wanted = list(joined(records).values())
        for at in range(0, len(wanted), RECORDS_PER_WRITE):
            some = wanted[at : at + RECORDS_PER_WRITE]
            fields = [part for it in some for part in (it.group, encode(it))]
            with reached(self.name):
                self._write([KEY], fields)


def decisions_log(source: str) -> str:
    """Returns the name of a region's log of decisions, under which its copies have their ages."""
    return f"primary:{source}"


class PrimaryCopies(PrimaryStore):
    """Primary region records in one Redis, for the copier of one region's decisions."""

    def __init__(self, url: str, source: str, *, timeout_seconds: float = 5.0) -> None:
        """`source` is the region whose topic is copied."""
        super().__init__(url, timeout_seconds=timeout_seconds)
        self._positions = Positions(self._redis, self.name, decisions_log(source))
        self._put = self._redis.register_script(PUT)

    def position(self) -> dict[int, TailPosition]:
        """Returns the position up to which each partition of the topic is copied."""
        return self._positions.get()

    def age(self, now_ms: int) -> int | None:
        """Returns how many ms ago the copy had every decision of that time; None: unknown."""
        return self._positions.age(now_ms)

    def put(self, portions: Mapping[int, Portion[PrimaryRegion]]) -> None:
        """Joins what was read, in one step; raises StoreBehind as every copy does."""
        packed = [
            {**header(number, portion), "records": _packed(portion)}
            for number, portion in portions.items()
        ]
        with reached(self.name):
            behind: Any = self._put([*self._positions.keys, KEY], [text(packed)])
        self._positions.raise_if(behind)


def _packed(portion: Portion[PrimaryRegion]) -> list[tuple[str, str]]:
    records = joined(each.record for each in portion.told)
    return [(group, encode(record)) for group, record in records.items()]

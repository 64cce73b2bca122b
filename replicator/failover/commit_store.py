"""What the groups of a region have committed, copied into another region's Redis.

    sluice:commits:<region>:<group>     hash: [topic,partition] -> a commit, or that it was deleted
    sluice:groups:<region>              hash: group -> how many commits it has
    sluice:commits_read:<region>        hash: partition of __consumer_offsets -> its Position
    sluice:commits_age:<region>         hash: the same -> [era, when all that was there was read]

Every value is a join: of two commits the larger version stays, and a deletion is a value like any
other, so that an older commit that comes late does not bring back what was deleted. A portion is
taken only where it goes on from what is here: whoever was flushed, or restored from yesterday,
says so, and nothing is missed in between.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import redis

from balancer.plan import TopicPartition
from replicator.failover.commit_log import Portion, Position, Versioned
from replicator.failover.commit_record import Commit, Committed
from replicator.offsets.offset_store import StoreUnreachable, without_password

GROUPS_PER_READ = 1000
# A group without commits is forgotten after that; nobody is late by as much.
DELETED_SECONDS = 7 * 24 * 3600

# KEYS: positions, ages, groups, and the hashes of the groups that the portions name by number.
# One script, so that no position is ever here without what was read before it.
PUT = """
local positions, ages, groups = KEYS[1], KEYS[2], KEYS[3]
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

local function is_commit(value)
  return value and not string.match(value, '^%[%d+,%d+%]$')
end

local function join(hash, group, field, value)
  local before = redis.call('HGET', hash, field)
  if not is_larger(value, before) then return end
  redis.call('HSET', hash, field, value)
  local was, is = is_commit(before), is_commit(value)
  if is and not was then
    redis.call('HINCRBY', groups, group, 1)
    redis.call('PERSIST', hash)
  elseif was and not is and redis.call('HINCRBY', groups, group, -1) == 0 then
    redis.call('HDEL', groups, group)
  end
  if not is and redis.call('HEXISTS', groups, group) == 0 then
    redis.call('EXPIRE', hash, ARGV[2])
  end
end

local function goes_on(stored, begin)
  if stored and begin.era == stored.era then
    return begin.topic_id == stored.topic_id and begin.offset <= stored.offset
  end
  return begin.offset == 0 and (not stored or begin.era > stored.era)
end

local function position(text)
  local fields = cjson.decode(text)
  return {topic_id = fields[1], era = fields[2], offset = fields[3]}
end

for _, portion in ipairs(cjson.decode(ARGV[1])) do
  local number = portion.partition
  local text = redis.call('HGET', positions, number)
  local stored = text and position(text)
  local reached = position(portion.reached)
  if not goes_on(stored, position(portion.begin)) then
    table.insert(behind, tonumber(number))
  else
    if not stored or reached.era > stored.era or reached.offset > stored.offset then
      redis.call('HSET', positions, number, portion.reached)
    end
    if portion.age ~= '' and is_larger(portion.age, redis.call('HGET', ages, number)) then
      redis.call('HSET', ages, number, portion.age)
    end
    for _, commit in ipairs(portion.commits) do
      join(KEYS[3 + commit[1]], commit[2], commit[3], commit[4])
    end
  end
end
return behind
"""


class StoreBehind(Exception):
    """What was put does not go on from what the store has. Go on from its position()."""


class CommitStore:
    """One region's commits in one Redis, for the copier that writes them and for readers."""

    def __init__(self, url: str, region: str, *, timeout_seconds: float = 5.0) -> None:
        self.name = f"Redis at {without_password(url)}"
        self._prefix = f"sluice:commits:{region}:"
        self._groups = f"sluice:groups:{region}"
        self._positions = f"sluice:commits_read:{region}"
        self._ages = f"sluice:commits_age:{region}"
        self._redis: redis.Redis = redis.Redis.from_url(
            url, socket_timeout=timeout_seconds, socket_connect_timeout=timeout_seconds
        )
        self._put = self._redis.register_script(PUT)

    def close(self) -> None:
        self._redis.close()

    def __enter__(self) -> CommitStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Reading

    def groups(self) -> list[str]:
        """Every group that has a commit."""
        with self._reached():
            names: Any = self._redis.hkeys(self._groups)
            return sorted(name.decode() for name in names)

    def commits(self, groups: Iterable[str]) -> dict[str, dict[TopicPartition, Commit]]:
        """What each of these groups has committed; a group without commits has an empty answer."""
        wanted = list(dict.fromkeys(groups))
        found: dict[str, dict[TopicPartition, Commit]] = {}
        for at in range(0, len(wanted), GROUPS_PER_READ):
            some = wanted[at : at + GROUPS_PER_READ]
            with self._reached(), self._redis.pipeline(transaction=False) as pipeline:
                for group in some:
                    pipeline.hgetall(self._prefix + group)
                hashes = pipeline.execute()
            found |= {group: _commits(fields) for group, fields in zip(some, hashes, strict=True)}
        return found

    def position(self) -> dict[int, Position]:
        """Up to where each partition of `__consumer_offsets` is in here."""
        with self._reached():
            texts: Any = self._redis.hgetall(self._positions)
        return {int(number): Position(*json.loads(text)) for number, text in texts.items()}

    def age(self, now_ms: int) -> int | None:
        """How many ms ago it was that all commits of that time are in here.

        None: not known, because the log is being read for the first time, or anew. What is here may
        then be older than what was here before.
        """
        with self._reached(), self._redis.pipeline(transaction=True) as pipeline:
            pipeline.hgetall(self._positions)
            pipeline.hgetall(self._ages)
            texts, ages = pipeline.execute()
        positions = {number: Position(*json.loads(text)) for number, text in texts.items()}
        # Of a topic that was made anew with fewer partitions, the old ones' positions stay behind.
        topic_id = max(positions.values(), key=lambda it: it.era).topic_id if positions else ""
        oldest = now_ms
        for number, position in positions.items():
            if position.topic_id == topic_id:
                era, caught_up_ms = json.loads(ages.get(number, b"[-1,0]"))
                if era != position.era:
                    return None
                oldest = min(oldest, caught_up_ms)
        return now_ms - oldest if positions else None

    # Copying

    def put(self, portions: Mapping[int, Portion]) -> None:
        """Joins what was read, by partition of `__consumer_offsets`, in one step.

        A poll's worth at a time: Redis does nothing else meanwhile. Raises StoreBehind once
        everything is in that goes on from what is here.
        """
        hashes: dict[str, int] = {}
        told = [_told(number, portion, hashes) for number, portion in portions.items()]
        keys = [self._positions, self._ages, self._groups, *(self._prefix + it for it in hashes)]
        with self._reached():
            behind: Any = self._put(keys, [_text(told), DELETED_SECONDS])
        if behind:
            raise StoreBehind(
                f"{self.name} does not have what came before, in partitions {sorted(behind)}"
            )

    @contextmanager
    def _reached(self) -> Iterator[None]:
        try:
            yield
        except redis.RedisError as error:
            raise StoreUnreachable(f"{self.name}: {error}") from error


def _text(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _told(number: int, portion: Portion, hashes: dict[str, int]) -> dict[str, object]:
    """A portion as the script takes it; groups get their numbers in `hashes`."""
    commits = [
        (
            hashes.setdefault(committed.group, len(hashes) + 1),
            committed.group,
            _field(committed),
            _value(versioned),
        )
        for committed, versioned in portion.commits.items()
    ]
    caught_up_ms = portion.caught_up_ms
    return {
        "partition": str(number),
        "begin": _text(portion.begin),
        "reached": _text(portion.end),
        "age": "" if caught_up_ms is None else _text((portion.end.era, caught_up_ms)),
        "commits": commits,
    }


def _field(committed: Committed) -> str:
    return _text((committed.topic, committed.partition))


def _value(versioned: Versioned) -> str:
    """Begins with the version, which the script compares; a deletion is nothing but that."""
    (era, log_offset), commit = versioned
    if commit is None:
        return _text((era, log_offset))
    fields = commit.offset, commit.metadata, commit.at_ms, commit.leader_epoch
    return _text((era, log_offset, *fields))


def _commits(fields: Mapping[bytes, bytes]) -> dict[TopicPartition, Commit]:
    """Those that were not deleted."""
    found: dict[TopicPartition, Commit] = {}
    for field, value in fields.items():
        _, _, *commit = json.loads(value)
        if commit:
            found[TopicPartition(*json.loads(field))] = Commit(*commit)
    return found

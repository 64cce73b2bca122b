"""Commits of a region's groups, copied into another region's Redis.

    sluice:commits:<region>:<group>     hash: [topic,partition] -> a commit, or its deletion.
    sluice:groups:<region>              hash: group -> how many commits it has.

Every write is a join: of two commits the larger version stays. A deletion is a value like any
other, so that an older commit that arrives late does not bring back a deleted one. All commits of a
group lie in one partition of `__consumer_offsets`. The later one is therefore the newer one, also
when a group was rewound on purpose.

When a cluster was built anew, its log holds nothing of groups that have not committed there yet.
Their commits in the former cluster stay here until they do, and are shown to nobody: those offsets
belong to logs that no longer exist.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from balancer.topic_partition import TopicPartition
from replicator.kafka.protocol.commit_record import Commit, Committed
from replicator.kafka.tail.consumer_offsets import CommitRecord
from replicator.kafka.tail.copy_store import CopyStore
from replicator.kafka.tail.stored_positions import PRELUDE, header, text
from replicator.kafka.tail.tail_position import Portion, VersionedRecord, first_era
from replicator.runtime.store_errors import reached

GROUPS_PER_READ = 1000
# A group without commits is forgotten after this time; no commit arrives that late.
DELETED_SECONDS = 7 * 24 * 3600

# KEYS: positions, ages, groups, and the hashes of the groups that the portions name by number.
PUT = (
    PRELUDE
    + """
local groups = KEYS[3]

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

for _, portion in ipairs(cjson.decode(ARGV[1])) do
  if take(portion) then
    for _, commit in ipairs(portion.commits) do
      join(KEYS[3 + commit[1]], commit[2], commit[3], commit[4])
    end
  end
end
return behind
"""
)


class CommitStore(CopyStore):
    """Commits of one region in one Redis, for the copier that writes them and for readers."""

    def __init__(self, url: str, region: str, *, timeout_seconds: float = 5.0) -> None:
        super().__init__(url, f"commits:{region}", timeout_seconds=timeout_seconds)
        self._prefix = f"sluice:commits:{region}:"
        self._groups = f"sluice:groups:{region}"
        self._put = self._redis.register_script(PUT)

    # Reading

    def groups(self) -> list[str]:
        """Returns every group that has a commit, sorted."""
        with reached(self.name):
            found: Any = self._redis.hkeys(self._groups)
        names = sorted(name.decode() for name in found)
        if first_era(self.position()) == 0:
            return names
        commits = self.commits(names)
        return [name for name in names if commits[name]]

    def commits(self, groups: Iterable[str]) -> dict[str, dict[TopicPartition, Commit]]:
        """Returns the commits of each of these groups; empty for a group without commits."""
        since = first_era(self.position())
        wanted = list(dict.fromkeys(groups))
        found: dict[str, dict[TopicPartition, Commit]] = {}
        for at in range(0, len(wanted), GROUPS_PER_READ):
            some = wanted[at : at + GROUPS_PER_READ]
            with reached(self.name), self._redis.pipeline(transaction=False) as pipeline:
                for group in some:
                    pipeline.hgetall(self._prefix + group)
                hashes = pipeline.execute()
            found |= {
                group: _commits(fields, since) for group, fields in zip(some, hashes, strict=True)
            }
        return found

    # Copying

    def put(self, portions: Mapping[int, Portion[CommitRecord]]) -> None:
        """Joins portions, by partition of `__consumer_offsets`, in one step.

        Put a poll's worth at a time: Redis does nothing else meanwhile. Raises StoreBehind, after
        all portions are put that continue from what is here.
        """
        hashes: dict[str, int] = {}
        packed = [_packed(number, portion, hashes) for number, portion in portions.items()]
        keys = [*self._positions.keys, self._groups, *(self._prefix + it for it in hashes)]
        with reached(self.name):
            behind: Any = self._put(keys, [text(packed), DELETED_SECONDS])
        self._positions.raise_if(behind)


def newest(
    records: Iterable[VersionedRecord[CommitRecord]],
) -> dict[Committed, VersionedRecord[CommitRecord]]:
    """Returns the newest record of each commit key, in any order and with any repetition."""
    found: dict[Committed, VersionedRecord[CommitRecord]] = {}
    for each in records:
        committed = each.record.committed
        if committed not in found or found[committed].version < each.version:
            found[committed] = each
    return found


def _packed(
    number: int, portion: Portion[CommitRecord], hashes: dict[str, int]
) -> dict[str, object]:
    """Returns a portion in the script's form; groups get their numbers in `hashes`."""
    commits = [
        (
            hashes.setdefault(committed.group, len(hashes) + 1),
            committed.group,
            text((committed.topic, committed.partition)),
            _value(record),
        )
        for committed, record in newest(portion.told).items()
    ]
    return {**header(number, portion), "commits": commits}


def _value(record: VersionedRecord[CommitRecord]) -> str:
    """Returns the stored text, which begins with the version that the script compares.

    A deletion is nothing but its version.
    """
    (era, log_offset), (_, commit) = record
    if commit is None:
        return text((era, log_offset))
    fields = commit.offset, commit.metadata, commit.at_ms, commit.leader_epoch
    return text((era, log_offset, *fields))


def _commits(fields: Mapping[bytes, bytes], since: int) -> dict[TopicPartition, Commit]:
    """Returns the commits of this era and later ones that were not deleted."""
    found: dict[TopicPartition, Commit] = {}
    for field, value in fields.items():
        era, _, *commit = json.loads(value)
        if commit and era >= since:
            found[TopicPartition(*json.loads(field))] = Commit(*commit)
    return found

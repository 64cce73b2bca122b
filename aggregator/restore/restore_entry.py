"""Restore entry: how far a partition of a topic is restored.

Entries are committed offsets of the group of the target topic's id, in the transaction that has the
records. The group's name is the transactional id, too: the next restore into the topic fences the
one before, whatever it restores.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from typing_extensions import override

from aggregator.restore.restore_plan import CannotRestore, PartitionPlan
from balancer.topic_partition import TopicPartition
from replicator.config.names import restore_id
from replicator.kafka.client.cluster import Cluster
from replicator.kafka.client.committed_entries import CommittedEntries
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata

VERSION = 1
JOB_CHARACTERS_MAX = 600
"""Longest text of a job in an entry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreEntry:
    """Progress of one partition.

    Args:
        job: hash of what is restored, and into which topic.
        text: the same for people.
        begin, end: source offsets between which records are restored.
        position: every record below it is in the target.
        target_offset: the target's log ended there before the first transaction.
        records: in the target.
    """

    job: str
    text: str
    begin: int
    end: int
    position: int
    target_offset: int
    records: int = 0
    transactional_id: str

    @property
    def is_done(self) -> bool:
        return self.position >= self.end

    def passed(self, position: int, records: int) -> RestoreEntry:
        """Returns the entry behind further records."""
        return replace(self, position=position, records=self.records + records)


def claim(job: str, text: str, plan: PartitionPlan, target_offset: int, id_: str) -> RestoreEntry:
    """Returns the first entry of a partition."""
    # JSON needs six to twelve bytes for a character outside ASCII.
    plain = text.encode("ascii", "replace").decode()[:JOB_CHARACTERS_MAX]
    return RestoreEntry(
        job=job,
        text="".join(each if each.isprintable() else "?" for each in plain),
        begin=plan.begin,
        end=plan.end,
        position=plan.begin,
        target_offset=target_offset,
        transactional_id=id_,
    )


def resumed(
    job: str, plan: PartitionPlan, entries: Mapping[int, RestoreEntry], target_end: int
) -> RestoreEntry:
    """Returns the entry from which a partition goes on. Raises CannotRestore.

    Args:
        entries: of all partitions of the target topic, as far as there are any.
        target_end: where the target's log ends.
    """
    for other in entries.values():
        if other.job != job:
            raise CannotRestore(
                f"the topic holds another restore ({other.text}); restore into an empty topic"
            )
    entry = entries.get(plan.partition)
    if entry is None:
        raise CannotRestore(
            f"partition {plan.partition}: its entry is gone (offsets.retention.minutes); restore "
            "into an empty topic"
        )
    if (entry.begin, entry.end) != (plan.begin, plan.end):
        raise CannotRestore(
            f"partition {plan.partition}: another run has just begun this restore; run this again"
        )
    least = entry.target_offset + entry.records
    if target_end < least:
        raise CannotRestore(
            f"partition {plan.partition}: the topic ends at {target_end}, and had records up to "
            f"{least}: it has lost some; restore into an empty topic"
        )
    return entry


def encode(entry: RestoreEntry) -> tuple[int, str]:
    """Returns the committed offset and its metadata."""
    fields: dict[str, Any] = {
        "v": VERSION,
        "job": entry.job,
        "range": [entry.begin, entry.end],
        "d": entry.target_offset,
        "records": entry.records,
        "id": entry.transactional_id,
        "of": entry.text,
    }
    return entry.position, json.dumps(fields, separators=(",", ":"))


def decode(offset: int, metadata: str) -> RestoreEntry:
    """Returns the entry of a committed offset; one that cannot be read belongs to no job."""
    try:
        fields = json.loads(metadata)
        if fields["v"] != VERSION:
            raise ValueError(f"version {fields['v']}")
        begin, end = fields["range"]
        return RestoreEntry(
            job=fields["job"],
            text=fields["of"],
            begin=begin,
            end=end,
            position=offset,
            target_offset=fields["d"],
            records=fields["records"],
            transactional_id=fields["id"],
        )
    except (ValueError, KeyError, TypeError) as error:
        text = f"an entry that this version cannot read: {error}"
        return RestoreEntry(
            job="",
            text=text,
            begin=0,
            end=0,
            position=offset,
            target_offset=0,
            transactional_id="",
        )


class RestoreEntries(CommittedEntries[RestoreEntry]):
    """Reads and commits the entries of one target topic."""

    def __init__(self, cluster: Cluster, topic_id: str):
        super().__init__(cluster)
        self._topic_id = topic_id

    @override
    def group_for(self, partition: TopicPartition) -> str:
        return restore_id(self._topic_id)

    @override
    def to_commit(self, entry: RestoreEntry) -> tuple[int, str]:
        return encode(entry)

    @override
    def from_commit(self, commit: OffsetAndMetadata) -> RestoreEntry:
        return decode(commit.offset, commit.metadata)


def by_number(entries: Mapping[TopicPartition, RestoreEntry]) -> dict[int, RestoreEntry]:
    """Returns the entries by the partition's number."""
    return {place.partition: entry for place, entry in entries.items()}

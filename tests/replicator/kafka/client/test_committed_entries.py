"""Entries name the id that may replace them; no commit overwrites the entry of another holder."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from balancer.topic_partition import TopicPartition
from replicator.kafka.client.cluster import Cluster, Fenced
from replicator.kafka.client.committed_entries import CommittedEntries
from replicator.kafka.client.fenced_committer import FencedCommitter, Identity
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata
from tests.replicator.kafka.client.coordinator import Coordinator

FREE, OLD, OWN = "free", "old", "own"
PARTITION, OTHER = TopicPartition("flights", 7), TopicPartition("flights", 8)


@dataclass(frozen=True)
class Progress:
    """Entry with a position, and the id that may replace it."""

    position: int
    transactional_id: str


BEFORE, TAKEN, CARRIED = Progress(100, FREE), Progress(100, OLD), Progress(200, OLD)


def group_of(partition: TopicPartition) -> str:
    return f"group-{partition.partition}"


class ProgressEntries(CommittedEntries[Progress]):
    """Entries with a group for each partition number."""

    def group_for(self, partition: TopicPartition) -> str:
        return group_of(partition)

    def to_commit(self, entry: Progress) -> tuple[int, str]:
        return entry.position, json.dumps(entry.transactional_id)

    def from_commit(self, commit: OffsetAndMetadata) -> Progress:
        return Progress(commit.offset, json.loads(commit.metadata))


def entries_in(cluster: Cluster) -> CommittedEntries[Progress]:
    return ProgressEntries(cluster)


def coordinator(*later: Progress) -> Coordinator:
    """Returns one that leaves the first marker out; right after it, others commit `later`."""

    def row(entry: Progress) -> tuple[str, int, int, str]:
        return (*PARTITION, entry.position, json.dumps(entry.transactional_id))

    group = group_of(PARTITION)
    return Coordinator({group: [row(BEFORE)]}, [{group}], {group: [row(each) for each in later]})


async def shown_in(cluster: Cluster) -> Progress:
    return (await entries_in(cluster).read([PARTITION]))[PARTITION]


async def test_partitions_without_an_entry_are_left_out():
    assert await entries_in(coordinator()).read([OTHER, PARTITION]) == {PARTITION: BEFORE}


def test_entries_are_committed_under_their_own_group_topic_and_partition():
    assert entries_in(coordinator()).offsets({PARTITION: TAKEN, OTHER: CARRIED}) == {
        "group-7": [("flights", 7, 100, '"old"')],
        "group-8": [("flights", 8, 200, '"old"')],
    }


async def test_a_holder_reads_once_every_coordinator_has_written():
    cluster = coordinator()
    found = await entries_in(cluster).read_as_holder(
        FencedCommitter(cluster, FREE), [PARTITION, OTHER]
    )
    assert found == {PARTITION: BEFORE}
    [(is_commit, written)] = cluster.ended
    assert not is_commit
    assert list(written) == ["group-7", "group-8"]


async def test_a_replacement_that_stays_hidden_is_committed_again():
    cluster = coordinator()
    holder = FencedCommitter(cluster, FREE)
    await entries_in(cluster).replace(holder, {PARTITION: BEFORE}, {PARTITION: TAKEN})
    assert await shown_in(cluster) == TAKEN


@pytest.mark.parametrize(
    "later",
    [
        Progress(100, OWN),
        # Acquired, carried and released again: the same id, which nobody had to open for that.
        Progress(5000, FREE),
    ],
    ids=["held by another", "released again under the same id"],
)
async def test_a_replacement_that_is_not_shown_overwrites_no_other_entry(later):
    cluster = coordinator(later)
    holder = FencedCommitter(cluster, FREE)
    with pytest.raises(Fenced, match="faster"):
        await entries_in(cluster).replace(holder, {PARTITION: BEFORE}, {PARTITION: TAKEN})
    assert await shown_in(cluster) == later


async def test_an_own_entry_that_stays_hidden_is_committed_again_with_its_effects():
    cluster, written = coordinator(TAKEN), []

    async def effects(identity: Identity) -> None:
        written.append(identity.transactional_id)

    await entries_in(cluster).commit(
        FencedCommitter(cluster, OLD), {PARTITION: CARRIED}, effects=effects
    )
    assert await shown_in(cluster) == CARRIED
    assert written == [OLD, OLD]


async def test_an_own_entry_that_another_writer_replaced_is_a_fence():
    other = Progress(100, OWN)
    cluster = coordinator(other)
    with pytest.raises(Fenced, match="replaced"):
        await entries_in(cluster).commit(FencedCommitter(cluster, OLD), {PARTITION: CARRIED})
    assert await shown_in(cluster) == other


async def test_a_released_entry_may_be_replaced_at_once():
    other = Progress(100, OWN)
    cluster = coordinator(other)
    freed = Progress(200, FREE)
    await entries_in(cluster).release(FencedCommitter(cluster, OLD), {PARTITION: freed})
    assert await shown_in(cluster) == other

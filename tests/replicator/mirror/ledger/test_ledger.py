"""Entries and witnesses are spread over groups, which stay the same forever."""

from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from balancer.topic_partition import TopicPartition
from replicator.config.topology import KafkaCluster, Route
from replicator.kafka.client.cluster import Cluster
from replicator.kafka.client.loss import Loss, LossKind, NeededLimit
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata
from replicator.mirror.ledger.entry import Custody, Entry, decode, encode
from replicator.mirror.ledger.ledger import (
    GROUPS,
    Ledger,
    group_of,
    groups_of,
    virgin,
)
from tests.replicator.mirror.ledger.held import held

ROUTE = Route("west", "east")
PARTITIONS = [TopicPartition(f"topic-{t}", n) for t in range(20) for n in range(100)]


def a_ledger(runs: Any = None) -> Ledger:
    nowhere = KafkaCluster.model_validate({"bootstrap": ["127.0.0.1:1"]})
    return Ledger(Cluster("nowhere", nowhere), ROUTE, runs)


def test_entries_spread_over_all_groups():
    spread = Counter(group_of(ROUTE, partition) for partition in PARTITIONS)
    assert set(spread) == set(groups_of(ROUTE))
    assert max(spread.values()) < 2 * len(PARTITIONS) / GROUPS


def test_a_partitions_group_never_changes():
    assert GROUPS == 4
    assert group_of(ROUTE, TopicPartition("flights", 7)) == "sluice.west.east.0"


def test_entries_are_committed_under_their_own_group_topic_and_partition():
    ledger = a_ledger()
    entries = {partition: virgin(ledger, number) for number, partition in enumerate(PARTITIONS)}
    decoded_entries = {
        TopicPartition(topic, partition): (group, decode(offset, metadata))
        for group, rows in ledger.offsets(entries).items()
        for topic, partition, offset, metadata in rows
    }
    assert decoded_entries == {p: (group_of(ROUTE, p), entry) for p, entry in entries.items()}
    assert {entry.custody for entry in entries.values()} == {Custody.VIRGIN}


def test_a_witness_is_committed_under_a_topic_that_outlives_its_own():
    ((group, ((topic, partition, count, _),)),) = a_ledger().witness("flights", 12).items()
    assert (group, topic, partition, count) == (
        "sluice.west.east.witness.flights",
        "sluice.runs.west.east",
        0,
        12,
    )


TAKEN, PARTITION = held(), TopicPartition("flights", 7)


def decoded(ledger: Ledger, entry: Entry) -> Entry:
    [[row]] = ledger.offsets({PARTITION: entry}).values()
    return decode(*row[2:])


def test_an_entry_is_committed_with_the_ends_of_the_runs_topic():
    runs = SimpleNamespace(positions=(3, 4))
    ledger = a_ledger(runs)
    assert decoded(ledger, TAKEN).runs == (3, 4)
    lost = Loss(LossKind.LEDGER_TURNED_BACK, 1, 2)
    assert decoded(ledger, TAKEN.park(lost)).runs == (3, 4)
    # The runs that parked it lie after its own position.
    assert decoded(ledger, replace(TAKEN, runs=(1, 1)).park(lost)).runs == (1, 1)
    runs.positions = ()
    assert decoded(ledger, replace(TAKEN, runs=(1, 1))).runs == (1, 1)


async def test_the_largest_limit_that_a_record_of_a_topic_needs_is_read():
    one, two, three, other = (
        TopicPartition(*it) for it in (("a", 0), ("a", 1), ("a", 2), ("b", 0))
    )
    loss = Loss(LossKind.RECORD_TOO_LARGE, 5, 6, "it is a batch of 7000 bytes, and")
    entries = {
        one: held(needs=NeededLimit(5000)),
        two: replace(held().park(loss), needs=None),
        three: held(needs=NeededLimit(100, refused_bytes=300)),
        other: held().park(Loss(LossKind.SOURCE_CORRUPT, 5, 6)),
    }

    class Commits(Cluster):
        async def commits(self, group, asked):
            return {
                TopicPartition(topic, number): OffsetAndMetadata(
                    *encode(entries[TopicPartition(topic, number)])
                )
                for topic, numbers in asked
                for number in numbers
            }

    nowhere = KafkaCluster.model_validate({"bootstrap": ["127.0.0.1:1"]})
    ledger = Ledger(Commits("nowhere", nowhere), ROUTE)
    assert await ledger.needs(entries) == {"a": 7000}
    assert await ledger.needs([three, other]) == {"a": 301}

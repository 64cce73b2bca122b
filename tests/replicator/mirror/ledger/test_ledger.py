"""Entries and witnesses are spread over groups, which stay the same forever."""

from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from balancer.plan import TopicPartition
from replicator.config.topology import KafkaCluster, Route
from replicator.kafka.client.cluster import Cluster, Fenced
from replicator.kafka.client.fenced_committer import FencedCommitter
from replicator.mirror.ledger.entry import Custody, Entry, decode
from replicator.mirror.ledger.ledger import (
    GROUPS,
    Ledger,
    group_of,
    groups_of,
    virgin,
)
from replicator.mirror.ledger.loss import Loss, LossKind
from tests.replicator.mirror.ledger.coordinator import Coordinator
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


# -- offsets that are shown in place of a commit whose marker was left out

OLD, OWN = "sluice.west.east.3", "sluice.west.east.4"
BEFORE = held(
    custody=Custody.RELEASED,
    source_offset=100,
    target_offset=100,
    producer_id=7,
    epoch=5,
    sequence=50,
    transactional_id=f"{OLD}.free",
)
TAKEN = replace(BEFORE, custody=Custody.HELD, producer_id=8, epoch=0, transactional_id=OLD)
CARRIED = replace(TAKEN, source_offset=200, target_offset=200, sequence=100)
PARTITION = TopicPartition("flights", 7)


def coordinator(*later: Entry) -> Coordinator:
    """Returns one that leaves the first marker out; right after it, others commit `later`."""
    ledger = a_ledger()
    group = group_of(ROUTE, PARTITION)
    behind = [row for entry in later for row in ledger.offsets({PARTITION: entry})[group]]
    shown = {group: list(ledger.offsets({PARTITION: BEFORE})[group])}
    return Coordinator(shown, [{group}], {group: behind})


async def shown_in(cluster: Cluster) -> Entry:
    return (await Ledger(cluster, ROUTE).read([PARTITION]))[PARTITION]


async def test_a_replacement_that_stays_hidden_is_committed_again():
    cluster = coordinator()
    holder = FencedCommitter(cluster, f"{OLD}.free")
    await Ledger(cluster, ROUTE).replace(holder, {PARTITION: BEFORE}, {PARTITION: TAKEN})
    assert await shown_in(cluster) == TAKEN


@pytest.mark.parametrize(
    "later",
    [
        replace(TAKEN, epoch=1, transactional_id=OWN),
        # Acquired, carried and released again: the same id, which nobody had to open for that.
        replace(BEFORE, source_offset=5000, target_offset=5000),
    ],
    ids=["held by another", "released again under the same id"],
)
async def test_a_replacement_that_is_not_shown_overwrites_no_other_entry(later):
    cluster = coordinator(later)
    holder = FencedCommitter(cluster, f"{OLD}.free")
    with pytest.raises(Fenced, match="faster"):
        await Ledger(cluster, ROUTE).replace(holder, {PARTITION: BEFORE}, {PARTITION: TAKEN})
    assert await shown_in(cluster) == later


async def test_an_own_entry_that_stays_hidden_is_committed_again():
    cluster = coordinator(TAKEN)
    await Ledger(cluster, ROUTE).commit(FencedCommitter(cluster, OLD), {PARTITION: CARRIED})
    assert await shown_in(cluster) == CARRIED


async def test_an_own_entry_that_another_writer_replaced_is_a_fence():
    other = replace(TAKEN, transactional_id=OWN)
    cluster = coordinator(other)
    with pytest.raises(Fenced, match="replaced"):
        await Ledger(cluster, ROUTE).commit(FencedCommitter(cluster, OLD), {PARTITION: CARRIED})
    assert await shown_in(cluster) == other


async def test_a_released_entry_may_be_replaced_at_once():
    other = replace(TAKEN, transactional_id=OWN)
    cluster = coordinator(other)
    freed = replace(CARRIED, custody=Custody.RELEASED, transactional_id=f"{OLD}.free")
    await Ledger(cluster, ROUTE).release(FencedCommitter(cluster, OLD), {PARTITION: freed})
    assert await shown_in(cluster) == other


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

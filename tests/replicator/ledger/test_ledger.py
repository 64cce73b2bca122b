"""Where entries and witnesses are kept: spread over groups, the same for ever."""

from collections import Counter

from balancer.plan import TopicPartition
from replicator.config.topology import KafkaCluster, Route
from replicator.kafka.cluster import Cluster
from replicator.ledger.entry import Custody, decode
from replicator.ledger.ledger import (
    GROUPS,
    Ledger,
    free_id,
    group_of,
    groups_of,
    virgin,
    witness_group,
)

ROUTE = Route("west", "east")
PLACES = [TopicPartition(f"topic-{t}", n) for t in range(20) for n in range(100)]


def a_ledger() -> Ledger:
    nowhere = KafkaCluster.model_validate({"bootstrap": ["127.0.0.1:1"]})
    return Ledger(Cluster("nowhere", nowhere), ROUTE)


def test_entries_spread_over_all_groups():
    spread = Counter(group_of(ROUTE, place) for place in PLACES)
    assert set(spread) == set(groups_of(ROUTE))
    assert max(spread.values()) < 2 * len(PLACES) / GROUPS


def test_a_partitions_group_never_changes():
    assert GROUPS == 4
    assert group_of(ROUTE, TopicPartition("flights", 7)) == "sluice.west.east.0"


def test_every_name_of_ours_begins_with_sluice():
    names = (*groups_of(ROUTE), free_id(ROUTE), witness_group(ROUTE, "flights"))
    assert all(name.startswith("sluice.west.east.") for name in names)


def test_entries_are_committed_under_their_own_group_topic_and_partition():
    ledger = a_ledger()
    entries = {place: virgin(ledger, number) for number, place in enumerate(PLACES)}
    told = {
        TopicPartition(topic, partition): (group, decode(offset, metadata))
        for group, rows in ledger.offsets(entries).items()
        for topic, partition, offset, metadata in rows
    }
    assert told == {place: (group_of(ROUTE, place), entry) for place, entry in entries.items()}
    assert {entry.custody for entry in entries.values()} == {Custody.VIRGIN}


def test_a_witness_is_kept_under_a_topic_that_outlives_the_one_it_speaks_of():
    ((group, ((topic, partition, count, _),)),) = a_ledger().witness("flights", 12).items()
    assert (group, topic, partition, count) == (
        "sluice.west.east.witness.flights",
        "sluice.runs.west.east",
        0,
        12,
    )

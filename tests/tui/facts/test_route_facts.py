"""Facts about a route: all partitions that source or ledger know."""

from dataclasses import replace

from balancer.topic_partition import TopicPartition
from tests.tui.facts.route_records import ENTRY, FACTS, PARTITION


def test_partitions_of_source_and_ledger_are_listed_in_order() -> None:
    ends = {TopicPartition("orders", number): 5 for number in (10, 9, 2)}
    bad = {TopicPartition("clicks", 1): "version 9"}
    facts = replace(FACTS, entries={PARTITION: ENTRY}, source_ends=ends, unreadable=bad)
    assert facts.known_partitions() == {
        "orders": [TopicPartition("orders", number) for number in (0, 2, 9, 10)],
        "clicks": [TopicPartition("clicks", 1)],
    }


def test_nothing_known_is_no_partition() -> None:
    assert replace(FACTS, entries=None, source_ends=None).known_partitions() == {}

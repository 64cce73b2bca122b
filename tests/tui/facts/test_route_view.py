"""Views of topics and routes: totals come from the partitions, and unknown stays unknown."""

from tui.facts.route_summary import topic_totals
from tui.facts.route_view import PartitionView, TopicView, custody_counts


def partition(number: int, **fields: object) -> PartitionView:
    names = ("source_end", "mirrored_to", "lag_records", "lag_seconds", "records_per_second")
    names += ("bytes_per_second", "carrier", "host", "custody", "parked")
    return PartitionView(topic="orders", partition=number, **dict.fromkeys(names) | fields)


def topic(*partitions: PartitionView) -> TopicView:
    return TopicView(
        topic="orders", states=(), notes=(), partitions=partitions, **topic_totals(partitions)
    )


def test_a_topic_without_partitions_known_has_no_totals() -> None:
    empty = topic()
    assert (empty.lag_records, empty.lag_seconds, empty.records_per_second) == (None, None, None)
    assert (empty.unknown_partitions, empty.parked_partitions) == (0, None)


def test_a_topic_adds_up_its_partitions() -> None:
    found = topic(
        partition(0, lag_records=3, lag_seconds=0.5, records_per_second=10.0, drain_seconds=4.0),
        partition(1, lag_records=4, lag_seconds=2.5, records_per_second=5.0, drain_seconds=9.0),
    )
    assert (found.lag_records, found.lag_seconds, found.records_per_second) == (7, 2.5, 15.0)
    assert found.drain_seconds == 9.0


def test_totals_say_how_many_parts_are_unknown() -> None:
    found = topic(partition(0, lag_records=3, custody="held"), partition(1, parked="lost"))
    assert (found.lag_records, found.unknown_partitions, found.parked_partitions) == (None, 1, 1)
    assert custody_counts(found) == "1 ?, 1 held"


def test_the_number_of_parked_partitions_is_unknown_where_neither_ledger_nor_carrier_tell() -> None:
    held, parked = partition(0, custody="held"), partition(1, custody="parked", parked="lost")
    assert topic(held, parked).parked_partitions == 1
    assert topic(held, partition(2, carrier=5)).parked_partitions == 0
    assert topic(held, partition(2, custody="no entry")).parked_partitions == 0
    assert topic(parked, partition(2)).parked_partitions is None

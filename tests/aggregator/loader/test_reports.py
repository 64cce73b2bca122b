"""Reports of loaders, and how much of the tables' windows has passed."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.intents.table_range import TableRange
from aggregator.loader.counters import BLOCKS
from aggregator.loader.loader_counts import LoaderCounts
from aggregator.loader.reports import LoaderReport, TableReport, latest
from aggregator.loader.window_watch import WindowWatch
from aggregator.store.schema_reader import TableFacts
from aggregator.tables.table_schema import TableSchema
from balancer.topic_partition import TopicPartition

# -- Reports survive encoding, and the newest one of a partition counts.

natural = st.integers(0, 2**63 - 1)
tables = st.dictionaries(st.text(), st.builds(TableReport, st.text(), natural))
reports = st.builds(
    LoaderReport,
    feed=st.text(),
    loader=natural,
    cluster=st.text(),
    topic=st.text(),
    partition=natural,
    mode=st.sampled_from(["replay", "consume"]),
    position=natural,
    offset=natural,
    buffered_bytes=natural,
    tables=tables,
    rows_per_second=st.none() | st.floats(0, 1e9),
    lag_seconds=st.none() | st.floats(0, 1e9),
    dead_letters=st.none() | natural,
    parked=st.none() | st.text(),
    open_objects=st.none() | natural,
    open_since_ms=st.none() | natural,
    at_ms=natural,
)


def report(**fields):
    values = {"feed": "flights", "loader": 1, "cluster": "west regional", "topic": "t"}
    values |= {"partition": 0, "mode": "consume", "position": 5, "offset": 3}
    return LoaderReport(**{**values, "buffered_bytes": 9, "at_ms": 1000, **fields})


@given(reports)
def test_a_report_read_back_is_the_same(sent):
    assert LoaderReport.from_json(sent.to_json()) == sent


@given(reports)
def test_a_report_is_one_line(sent):
    assert len(sent.to_json().encode().splitlines()) == 1


def test_fields_of_a_later_version_are_ignored():
    sent = report(tables={"hits": TableReport("loading", 7)})
    values = json.loads(sent.to_json())
    values["colour"] = values["tables"]["hits"]["colour"] = "red"
    assert LoaderReport.from_json(json.dumps(values)) == sent


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"tables":{"a":1}}', '{"tables":{}}', "5"])
def test_what_is_no_report_is_refused(text):
    with pytest.raises(ValueError):
        LoaderReport.from_json(text)


def test_the_newest_report_of_each_partition_counts():
    old, new, other = report(loader=1), report(loader=2, at_ms=2000), report(partition=1)
    east = report(cluster="east regional")
    assert latest([new, old, other, east]) == {
        new.source: new,
        other.source: other,
        east.source: east,
    }


def test_records_of_open_objects_have_waited_since_the_first_one_was_read():
    assert report().open_seconds is None
    assert report(open_objects=0).open_seconds == 0
    opened = report(open_objects=2, open_since_ms=400, at_ms=1000)
    assert opened.open_seconds == opened.end_to_end_seconds == 0.6


# -- Window watch: the block that is nearest to the end of its window counts.

PLACE = TopicPartition("t", 0)


def facts(blocks, seconds):
    return TableFacts(
        TableSchema("hits", (), deduplication_window=blocks), "x", window_seconds=seconds
    )


class Tables:
    """Tables by name, and how many blocks of each a loader stored."""

    def __init__(self, **tables):
        self.tables, self.counts = tables, LoaderCounts()
        self.watch = WindowWatch(self, self.counts)

    def facts(self, topic, table):
        return self.tables[table]

    def store(self, table, blocks):
        self.counts.add(BLOCKS, PLACE.topic, table, amount=blocks)

    def used(self, now_ms, place=PLACE, **sealed_at_ms):
        blocks = {name: TableRange(5, 9, 4, "abcd", at) for name, at in sealed_at_ms.items()}
        return self.watch.used(place, blocks, now_ms)


def test_without_a_block_under_way_nothing_of_a_window_is_used():
    assert Tables().used(1000) == 0.0


def test_time_since_the_seal_uses_the_window_up():
    tables = Tables(hits=facts(100, 60))
    assert tables.used(31_000, hits=1000) == 0.5
    assert tables.used(121_000, hits=1000) == 2.0


def test_blocks_stored_since_the_block_was_seen_use_the_window_up():
    tables = Tables(hits=facts(10, 3600))
    tables.store("hits", 40)
    assert tables.used(1000, hits=1000) == 0.0
    tables.store("hits", 7)
    assert tables.used(1000, hits=1000) == 0.7


def test_another_block_of_the_table_begins_anew():
    tables = Tables(hits=facts(10, None))
    tables.used(0, hits=0)
    tables.store("hits", 5)
    assert tables.used(0) == 0.0
    assert tables.used(0, hits=0) == 0.0


def test_partitions_do_not_count_for_each_other():
    tables = Tables(hits=facts(10, None))
    tables.used(0, hits=0)
    tables.store("hits", 5)
    assert tables.used(0, TopicPartition("t", 1), hits=0) == 0.0
    assert tables.used(0, hits=0) == 0.5


def test_the_block_nearest_to_the_end_counts_and_a_table_without_a_window_is_unknown():
    tables = Tables(hits=facts(100, 60), clicks=facts(100, 600), log=facts(0, None), new=None)
    assert tables.used(30_000, hits=0, clicks=0, log=0) == 0.5
    assert tables.used(30_000, log=0) is None
    assert tables.used(30_000, new=0) is None

"""Window watch: the block that is nearest to the end of its window counts."""

from __future__ import annotations

from aggregator.intents.table_range import TableRange
from aggregator.loader.counters import BLOCKS
from aggregator.loader.loader_counts import LoaderCounts
from aggregator.loader.window_watch import WindowWatch
from aggregator.store.schema_reader import TableFacts
from aggregator.tables.table_schema import TableSchema
from balancer.topic_partition import TopicPartition

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

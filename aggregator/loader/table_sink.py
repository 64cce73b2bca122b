"""Table sink: the parts of a loader session of a feed into tables."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial

from aggregator.formats.record_slice import RecordSlice
from aggregator.formats.routing import by_table
from aggregator.loader.block_forming import BlockForming
from aggregator.loader.block_partition import BlockPartition, held_for_blocks
from aggregator.loader.forming_room import FormingRoom
from aggregator.loader.intent_committer import IntentCommitter
from aggregator.loader.loader_assignment import LoaderAssignment
from aggregator.loader.loader_counts import LoaderCounts
from aggregator.loader.receipts import BlockReceipt
from aggregator.loader.seal_rule import MIB, PARTITION_BLOCKS, READ_PART, seal_rule
from aggregator.loader.shard_tables import ShardTables
from aggregator.loader.sink import Sink
from balancer.topic_partition import TopicPartition
from replicator.config.feed_settings import ClickHouseFeed


def table_sink(
    feed: ClickHouseFeed,
    assignment: LoaderAssignment,
    partitions: dict[TopicPartition, BlockPartition],
    intents: IntentCommitter,
    tables: ShardTables,
    memory_mib: int,
    stored: Callable[[BlockReceipt], None],
    loader_counts: LoaderCounts,
) -> Sink:
    """Returns the parts.

    Args:
        stored: called with each block that is stored.
    """
    rule = seal_rule(feed, memory_mib * MIB)
    room = FormingRoom(rule.forms_bytes_max)
    return Sink(
        forming=BlockForming(
            assignment, partitions, intents, tables, rule, stored, loader_counts, room
        ),
        hold=held_for_blocks,
        route=partial(_by_table, feed.header if feed.table_from == "header" else None),
        clock=time.monotonic,
        tables=tables,
        unloaded=tables.unloaded,
        partition_bytes_max=PARTITION_BLOCKS * rule.bytes_max,
        read_bytes_max=int(READ_PART * memory_mib * MIB),
        flush_seconds=feed.reference_seconds,
        close=tables.close,
    )


def _by_table(
    header: str | None, place: TopicPartition, records: RecordSlice, _: int
) -> Mapping[str, RecordSlice]:
    return by_table(records, topic=place.topic, header=header)

"""Fetch intake: what is taken in, where reading stops, and which partitions are read."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from aggregator.intents.intent import Intent
from aggregator.intents.table_range import TableRange
from aggregator.loader.block_partition import held_for_blocks
from aggregator.loader.fetch_intake import FetchIntake, FrozenRecord, next_frozen
from aggregator.loader.held_partition import HeldPartition
from aggregator.loader.partition_progress import PartitionProgress
from balancer.topic_partition import TopicPartition
from replicator.kafka.client.custody import Custody
from tests.aggregator.formats.slices import slice_of
from tests.replicator.batches.source_batches import encoded, one_record

# -- Intake of fetched records: a frozen table stops reading in front of its next record.

TOPIC = UUID(int=1)
TABLES = {"a": slice_of([b"{}"] * 3, first=10), "b": slice_of([b"{}"] * 5, first=12)}


def intent(**tables: TableRange) -> Intent:
    return Intent(
        custody=Custody.HELD, offset=10, tables=tables, reference=0, transactional_id="loader"
    )


@pytest.mark.parametrize(
    ("before", "frozen", "found"),
    [
        (intent(), [], None),
        (intent(), ["a"], FrozenRecord(10, "a")),
        (intent(), ["b", "a"], FrozenRecord(10, "a")),
        (intent(), ["b"], FrozenRecord(12, "b")),
        (intent(b=TableRange(14, 14)), ["b"], FrozenRecord(14, "b")),
        (intent(b=TableRange(12, 15, 3)), ["b"], FrozenRecord(15, "b")),
        (intent(a=TableRange(10, 13, 3)), ["b"], FrozenRecord(13, "b")),
        (intent(a=TableRange(10, 13, 3)), ["a"], None),
    ],
)
def test_what_a_predecessor_had_read_is_no_reason_to_stop(before, frozen, found):
    assert next_frozen(before, TABLES, frozen) == found


@pytest.mark.parametrize(("of_batch", "noted"), [(3, 5), (5, 5), (7, 7)])
def test_a_batch_that_is_read_again_does_not_hide_the_epoch_of_later_ones(of_batch, noted):
    before = replace(intent(a=TableRange(13, 13)), leader_epoch=5)
    place = TopicPartition("flights", 0)
    progress: Any = PartitionProgress(before)
    partition = HeldPartition(place, before, progress, leader_epoch=6)
    data = bytearray(encoded([one_record(at) for at in range(10, 13)]))
    data[12:16] = of_batch.to_bytes(4)  # partitionLeaderEpoch, which the CRC leaves out
    row = (0, 0, 13, 13, 0, None, -1, memoryview(data), None)
    intake = FetchIntake(
        source=None,
        partitions={place: partition},
        sink=SimpleNamespace(
            route=lambda place, records, _: {"a": records},
            forming=SimpleNamespace(filled=lambda: None),
            now=lambda: 0.0,
        ),
        assignment=SimpleNamespace(is_frozen=lambda *_: False),
    )
    session = SimpleNamespace(asked=lambda _: SimpleNamespace(offset=10, leader_epoch=6))
    response = SimpleNamespace(topics=[(TOPIC, [row], None)])
    intake.take(response, {(TOPIC, 0): partition}, session, 0.0)
    assert partition.progress.position == 13
    assert partition.progress.leader_epoch == noted


# -- Held partition: what its checks and its reader are told.


def test_a_log_that_is_cut_is_compared_with_the_blocks_that_are_read_again():
    intent = Intent(
        custody=Custody.HELD,
        offset=105,
        tables={"delays": TableRange(105, 130, 13, "h", 1), "gates": TableRange(140, 140)},
        reference=105,
        transactional_id="loader",
    )
    held = held_for_blocks(TopicPartition("flights", 0), intent, leader_epoch=3)
    assert (held.position, held.sealed_end) == (105, 140)

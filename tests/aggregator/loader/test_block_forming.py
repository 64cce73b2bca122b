"""Block forming: drafts, formed blocks, and records of columns that a table has later."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from aggregator.intents.table_range import TableRange
from aggregator.loader import block_forming
from aggregator.loader.block_forming import BlockForming
from aggregator.loader.column_search import ColumnSearch
from aggregator.loader.dead_letters import dead_letters
from aggregator.loader.draft import Draft, next_after
from aggregator.loader.formed_block import FormedBlock
from aggregator.loader.seal_rule import SealRule
from aggregator.tables.decoded import DeadRecord, Decoded
from aggregator.tables.table_schema import (
    INCARNATION,
    INCARNATION_TYPE,
    OWN_COLUMNS,
    Column,
    TableSchema,
)
from balancer.topic_partition import TopicPartition
from replicator.kafka.client.loss import LossKind
from tests.aggregator.formats.slices import slice_of, table
from tests.aggregator.loader.partition_life import Part

# -- Records of unknown columns have the table's columns read once more, and not again and
# again.

PLACE = TopicPartition("flights", 0)
OLD, NEW = table(a="UInt8"), table(a="UInt8", b="UInt8")
DRAFT = SimpleNamespace(table="t", slices=())


class Store:
    """Tables whose columns are NEW by now; decodes records that were written for some columns."""

    def __init__(self, written, now=NEW) -> None:
        self.written, self._now = written, now
        self.also = written
        self.reads = 0

    async def schema(self, topic, name, *, is_fresh):
        assert (topic, name) == ("flights", "t")
        self.reads += is_fresh
        return self._now

    async def decode(self, topic, slices, schema):
        if schema.hash == self.written:
            return Decoded()
        return Decoded(
            dead=(DeadRecord(7, "other columns"),),
            unknown_hashes=frozenset({self.written, self.also}),
        )


RULE = SealRule(
    bytes_max=100, records_max=100, age_seconds=1.0, partition_bytes_max=10, loader_bytes_max=50
)


def forming(store):
    return BlockForming(None, {}, None, store, None, None)


async def test_records_of_newer_columns_are_decoded_by_these():
    store = Store(NEW.hash)
    schema, decoded = await forming(store)._decode(PLACE, DRAFT, OLD)
    assert schema is NEW and decoded.dead == ()


@pytest.mark.parametrize("now", [OLD, NEW, None])
async def test_records_of_columns_that_the_table_never_had_are_dead(now):
    store = Store("01234567", now)
    schema, decoded = await forming(store)._decode(PLACE, DRAFT, OLD)
    assert schema in (OLD, now)
    assert [dead.offset for dead in decoded.dead] == [7]
    assert store.reads == 1


async def test_known_columns_are_not_read_again():
    store = Store(OLD.hash)
    schema, _ = await forming(store)._decode(PLACE, DRAFT, OLD)
    assert schema is OLD and store.reads == 0


async def test_columns_that_stay_unknown_are_looked_for_at_intervals(monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(block_forming, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    store = Store("01234567", OLD)
    loader = forming(store)
    for seconds in (0.0, 0.1, block_forming.TABLE_MISSING_SECONDS, 0.1):
        clock[0] += seconds
        await loader._decode(PLACE, DRAFT, OLD)
    assert store.reads == 2
    store.written = "89abcdef"
    await loader._decode(PLACE, DRAFT, OLD)
    assert store.reads == 3


async def test_columns_that_another_partition_has_just_read_are_used():
    store = Store(NEW.hash)
    loader = forming(store)
    for partition in range(3):
        place = TopicPartition("flights", partition)
        schema, decoded = await loader._decode(place, DRAFT, OLD)
        assert schema is NEW and decoded.dead == ()
    assert store.reads == 1


async def test_a_hash_that_stays_unknown_does_not_keep_another_one_from_being_looked_for():
    store = Store("01234567", OLD)
    loader = forming(store)
    await loader._decode(PLACE, DRAFT, OLD)
    store.also = NEW.hash
    await loader._decode(PLACE, DRAFT, OLD)
    assert store.reads == 2


class Progress:
    """Progress of a partition with one block to seal."""

    loads = 0

    def __init__(self) -> None:
        self.sealed: list[str] = []

    def buffer_of(self, table):
        return 9, 9

    def draft(self, table, rule):
        return SimpleNamespace(table=table, slices=(), begin=0, end=9, records=9, size_bytes=9)

    def can_seal(self, draft):
        return True

    def seal(self, draft, schema, now_ms, moment):
        self.sealed.append(draft.table)


@pytest.mark.parametrize(
    ("incarnation", "schema", "is_parked"),
    [
        (0, OLD, False),
        (5, OLD, True),
        (5, table(**OWN_COLUMNS), False),
        (5, None, False),
    ],
)
async def test_a_later_log_is_loaded_only_into_tables_that_tell_it_apart(
    incarnation, schema, is_parked
):
    store = Store(schema.hash if schema else "")
    store._now, partition = schema, later_log(incarnation)

    async def current(topic, name, *, is_fresh=False):
        return schema

    async def moment(topic, name):
        return None

    async def commit(partition, letters):
        raise TimeoutError  # far enough

    store.schema, store.moment = current, moment
    assignment = SimpleNamespace(feed=SimpleNamespace(name="f", dead_letters="topic"), cluster="c")
    loader = BlockForming(assignment, {}, SimpleNamespace(commit=commit), store, RULE, None)
    if is_parked:
        await loader._load(partition, "t")
        assert partition.loss_to_park.kind is LossKind.RECORDS_REFUSED
        assert f"{INCARNATION} {INCARNATION_TYPE}" in partition.loss_to_park.detail
        assert not partition.progress.sealed
    else:
        with pytest.raises(TimeoutError):
            await loader._load(partition, "t")
        assert partition.progress.sealed == ["t"]


def later_log(incarnation):
    intent = SimpleNamespace(incarnation=incarnation)
    return SimpleNamespace(
        partition=PLACE, progress=Progress(), intent=intent, loading_bytes=0, loss_to_park=None
    )


@pytest.mark.parametrize("incarnation", [0, 5])
def test_a_dead_letter_names_the_log_of_its_record_unless_it_is_the_first(incarnation):
    dead = [DeadRecord(7, "no such table")]
    part = slice_of([b"{}"], first=7)
    (letter,) = dead_letters("f", PLACE, "east aggregate", "t", [part], dead, incarnation)
    headers = dict(letter.headers)
    assert headers["sluice.offset"] == b"7"
    assert headers.get("sluice.incarnation") == (b"5" if incarnation else None)


# -- Drafts of blocks.


def test_a_part_of_a_draft_ends_below_an_offset_and_has_no_empty_slices():
    draft = Draft("a", 1, 9, (Part(np.array([1, 3])), Part(np.array([5, 8]))))
    part = draft.up_to(5)
    assert (part.begin, part.end, part.records, len(part.slices)) == (1, 5, 2, 1)
    assert draft.records == 4


def test_the_offset_behind_a_slice_is_that_behind_its_last_record():
    assert next_after(Part(np.array([5, 8]))) == 9


# -- Formed block: its name is that of the range as it was sealed.

ORDERS = TopicPartition("orders", 3)
LOGS = Column("_incarnation", "UInt64")


@pytest.mark.parametrize("left", [(100, 150), (100, 130), (120, 150), (110, 120)])
def test_a_block_of_which_a_loss_has_left_a_part_has_the_name_of_the_whole(left):
    """An insert of the whole may still run: under another name, nobody would wait for it."""
    found = TableRange(100, 150, 50).within(*left)
    assert (found.begin, found.end) == left
    block = FormedBlock("flights", found, Decoded(), TableSchema("flights", ()), False, 9)
    assert str(block.name("air", "east", ORDERS)) == "sluice-air-east-orders-3-flights-100-150"


def test_only_a_table_that_tells_logs_apart_has_them_in_the_names_of_blocks():
    schema = TableSchema("flights", (LOGS,))
    block = FormedBlock("flights", TableRange(1, 2), Decoded(), schema, True, 9)
    assert str(block.name("air", "east", ORDERS)) == "sluice-air-east-orders-3+9-flights-1-2"


# -- Column search: no hash is looked for twice within the pause, and each new one at once.

TABLE, OTHER = ("topic", "t"), ("topic", "u")


def begins(search, now, *hashes, table=TABLE):
    return search.begins(table, frozenset(hashes), now)


def test_a_hash_is_looked_for_again_only_after_the_pause():
    search = ColumnSearch(1.0)
    assert begins(search, 10.0, "a")
    assert not begins(search, 10.9, "a")
    assert begins(search, 11.0, "a")


def test_another_hash_or_table_is_looked_for_at_once():
    search = ColumnSearch(1.0)
    assert begins(search, 10.0, "a")
    assert begins(search, 10.1, "b")
    assert not begins(search, 10.2, "a", "b")
    assert begins(search, 10.2, "a", table=OTHER)

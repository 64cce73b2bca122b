"""Records of unknown columns have the table's columns read once more, and not again and again."""

from types import SimpleNamespace

import pytest

from aggregator.loader import block_forming
from aggregator.loader.block_forming import BlockForming
from aggregator.tables.decoded import DeadRecord, Decoded
from balancer.plan import TopicPartition
from tests.aggregator.formats.slices import table

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

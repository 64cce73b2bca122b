"""Left tables: tables that stand still keep no memory that others need, however many they are, and
are read again once they take blocks."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from aggregator.loader.forming_room import FormingRoom
from aggregator.loader.held_partition import HeldPartition
from aggregator.loader.left_tables import LeftTables
from aggregator.loader.partition_progress import PartitionProgress
from aggregator.loader.seal_rule import SealRule
from aggregator.loader.stalled_tables import STALLED_SECONDS
from balancer.topic_partition import TopicPartition
from replicator.kafka.client.custody import Custody
from replicator.orders.feed_orders import FeedOrders
from replicator.orders.order_records import SkipReplay
from tests.aggregator.loader.partition_life import Log, virgin

RULE = SealRule(
    bytes_max=40, records_max=8, age_seconds=3.0, partition_bytes_max=60, loader_bytes_max=1000
)
SMALL = SealRule(
    bytes_max=40, records_max=8, age_seconds=3.0, partition_bytes_max=60, loader_bytes_max=60
)
LATE = STALLED_SECONDS + 1.0


class Store:
    """Tables of which some refuse, and some take blocks again."""

    def __init__(self) -> None:
        self.refusing: set[str] = set()
        self.gone: set[str] = set()

    def refuses(self, topic, table):
        return table in self.refusing

    async def takes_blocks(self, topic, table, *, may_be_missing):
        return (may_be_missing or table not in self.gone) and table not in self.refusing


class Loader:
    """Loader whose blocks are under way until they are told to be stored."""

    def __init__(self, rule=RULE, skips=()) -> None:
        self.store, self.tasks, self.rule = Store(), {}, rule
        self.held, self.woken = {}, asyncio.Event()
        orders = FeedOrders(feed="f", skips=skips)
        assignment = SimpleNamespace(log_fields="feed=f", cluster="east", orders=orders)
        room = FormingRoom()
        self.left = LeftTables(assignment, self.store, rule, room, self.tasks, self.woken)

    def hold(self, number, tables, *, intent=None):
        """Holds a partition whose log has records of these tables, and reads it."""
        place = TopicPartition("t", number)
        progress = PartitionProgress(intent or virgin())
        partition = HeldPartition(place, intent or virgin(), progress)
        self.held[place] = partition
        if tables:
            Log(tables).read(progress, len(tables), 0.0)
            partition.source_end = len(tables)
        return partition

    def send(self, partition, *tables, schema="abcd1234"):
        """Seals what is buffered of tables, and begins to send it."""
        for table in tables:
            draft = partition.progress.draft(table, self.rule)
            partition.progress.seal(draft, schema, 0)
            self.work(partition, table)
            partition.loading_bytes += draft.size_bytes

    def work(self, partition, table):
        """Has work on a table's block begin at 0."""

        async def endless():
            size = partition.progress.block_bytes(table)
            try:
                await asyncio.Event().wait()
            finally:
                partition.loading_bytes -= size

        self.tasks[partition.partition, table] = asyncio.create_task(endless())
        self.left.stalled.begin(partition.partition, table, 0.0)

    async def tick(self, now=LATE):
        """Looks after the memory, and has tasks end that may; returns where blocks may begin."""
        for _ in range(5):
            await asyncio.sleep(0)
        for key, task in list(self.tasks.items()):
            if task.done():
                del self.tasks[key]
                self.left.stalled.end(*key)
        return self.left.keep_memory(list(self.held.values()), self.rule, now)

    def anew(self, partition):
        """Begins a partition anew from its intent."""
        for key in [key for key in self.tasks if key[0] == partition.partition]:
            self.tasks.pop(key).cancel()
            self.left.stalled.end(*key)
        intent = partition.progress.intent(Custody.HELD, 7, 1, "loader")
        found = self.hold(partition.partition.partition, [], intent=intent)
        found.left_behind = partition.left_behind
        for table, offset in partition.left_behind.items():
            found.progress.leave(table, offset)
        return found


@pytest.fixture
async def loader():
    made = []

    def make(rule=RULE, skips=()):
        made.append(Loader(rule, skips))
        return made[-1]

    yield make
    for each in made:
        for task in each.tasks.values():
            task.cancel()
        await asyncio.gather(*each.tasks.values(), return_exceptions=True)


STALLED = ("a", "b", "c", "d")
TABLES = [*(name for name in STALLED for _ in range(4)), "e"]
"""Records of four tables, each enough for a full block, and of a fifth one."""


async def test_however_many_tables_stand_still_their_blocks_take_half_of_a_partition_at_most(
    loader,
):
    it = loader()
    partition = it.hold(0, TABLES)
    it.send(partition, *STALLED)
    it.store.refusing = {*STALLED}
    await it.tick(STALLED_SECONDS)
    assert partition.loading_bytes == 160 and not partition.progress.dropped
    assert await it.tick() == [partition]
    await it.tick()
    assert partition.loading_bytes == 40 < RULE.partition_bytes_max
    assert len(partition.progress.dropped) == 3
    assert set(partition.progress.in_flight) == {*STALLED}
    assert partition.progress.offset == 0 and partition.is_fetching


async def test_a_silent_server_loses_its_blocks_later_and_only_if_others_are_stored(loader):
    it = loader()
    partition = it.hold(0, TABLES)
    it.send(partition, *STALLED)
    await it.tick(1000.0)
    assert partition.loading_bytes == 160
    it.left.stalled.stored(partition.partition, "e")
    await it.tick(LATE)
    assert partition.loading_bytes == 160
    await it.tick(1000.0)
    await it.tick(1000.0)
    assert partition.loading_bytes == 40


async def test_where_all_tables_of_a_partition_stand_still_nothing_is_dropped(loader):
    it = loader()
    partition = it.hold(0, TABLES[:-1])
    it.send(partition, *STALLED)
    it.store.refusing = {*STALLED}
    await it.tick()
    await it.tick()
    assert partition.loading_bytes == 160 and not partition.progress.dropped


@pytest.mark.parametrize("others_read", [True, False])
async def test_others_get_the_memory_of_partitions_of_which_all_tables_stand_still(
    loader, others_read
):
    it = loader(SMALL)
    partition = it.hold(0, TABLES[:-1])
    it.send(partition, *STALLED)
    it.store.refusing = {*STALLED}
    other = it.hold(1, [])
    other.source_end = 9 if others_read else 0
    await it.tick()
    await it.tick()
    assert partition.loading_bytes == (0 if others_read else 160)
    assert partition.is_fetching is not others_read
    it.store.refusing = {*STALLED[1:]}
    if others_read:
        await it.woken.wait()
        assert await it.tick() == [other]
        assert partition.is_to_reread and partition.left_behind == {"b": 4, "c": 8, "d": 12}


async def test_a_partition_begins_anew_for_the_table_that_is_back_and_leaves_the_others(loader):
    it = loader()
    partition = it.hold(0, TABLES)
    it.send(partition, *STALLED)
    it.store.refusing = {*STALLED}
    await it.tick()
    await it.tick()
    [kept] = {*STALLED} - partition.progress.dropped.keys()
    it.store.refusing -= {"a"} if kept != "a" else {"b"}
    await it.woken.wait()
    assert await it.tick() == []
    assert partition.is_to_reread
    [back] = {*STALLED} - partition.left_behind.keys()
    assert back not in it.store.refusing
    anew = it.anew(partition)
    await it.tick()
    assert anew.left_behind == {} and anew.progress.replaying == [back]
    Log(TABLES).read(anew.progress, len(TABLES), 0.0)
    assert anew.progress.block_bytes(back) == 40
    assert sum(map(anew.progress.block_bytes, STALLED)) == 40
    assert it.left.stalled.readings([anew.partition]) == 1


async def test_nothing_is_read_again_while_a_block_is_under_way_that_may_end(loader):
    it = loader()
    partition = it.hold(0, TABLES)
    it.send(partition, *STALLED)
    it.store.refusing = {*STALLED}
    await it.tick()
    it.send(partition, "e")
    it.left.stalled.begin(partition.partition, "e", LATE)
    it.store.refusing = set()
    await it.tick()
    await it.woken.wait()
    assert await it.tick() == [] and not partition.is_to_reread
    it.tasks.pop((partition.partition, "e")).cancel()
    it.left.stalled.end(partition.partition, "e")
    assert await it.tick() == [] and partition.is_to_reread


async def test_a_partition_that_reads_no_more_does_not_begin_anew(loader):
    it = loader()
    partition = it.hold(0, TABLES)
    it.send(partition, *STALLED)
    it.store.refusing = {*STALLED}
    await it.tick()
    it.store.refusing, partition.is_settling = set(), True
    await it.tick()
    await it.woken.wait()
    assert await it.tick() == [partition] and not partition.is_to_reread
    partition.is_settling = False
    assert await it.tick() == [] and partition.is_to_reread


@pytest.mark.parametrize(("schema", "asks"), [("", False), ("abcd1234", True)])
async def test_a_table_that_is_gone_is_asked_only_if_a_block_of_it_may_be_stored(
    loader, schema, asks
):
    it = loader()
    partition = it.hold(0, TABLES)
    it.send(partition, *STALLED, schema=schema)
    for table in STALLED:
        it.left.stalled.refused(partition.partition, table)
    it.store.gone = {*STALLED}
    await it.tick()
    await it.tick()
    await it.tick()
    assert partition.is_to_reread is not asks


async def test_blocks_that_are_read_again_take_no_more_than_a_partition_may_hold(loader):
    it = loader()
    before = it.hold(0, TABLES)
    it.send(before, *STALLED)
    intent = before.progress.intent(Custody.HELD, 7, 1, "loader")
    it.tasks.clear()
    partition = it.hold(0, TABLES, intent=intent)
    await it.tick(0.0)
    assert partition.progress.replaying == ["a", "b", "c"]
    assert partition.progress.dropped == {"d": 12}
    small = loader(SMALL)
    small.hold(0, TABLES, intent=intent)
    small.hold(1, TABLES, intent=intent)
    await small.tick(0.0)
    assert [each.progress.replaying for each in small.held.values()] == [["a", "b"], []]


@pytest.mark.parametrize(("end", "is_dropped"), [(16, True), (15, False)])
async def test_a_block_that_an_operator_dropped_waits_for_no_table(loader, end, is_dropped):
    first = loader()
    before = first.hold(0, TABLES)
    first.send(before, *STALLED)
    subject = {"cluster": "east", "topic": "t", "partition": 0, "table": "d"}
    order = SkipReplay(route="f", at_ms=1, who="sre", begin=12, end=end, **subject)
    it = loader(skips=(order,))
    intent = before.progress.intent(Custody.HELD, 7, 1, "loader")
    partition = it.hold(0, TABLES, intent=intent)
    it.store.gone = {*STALLED}
    await it.tick(0.0)
    assert partition.progress.dropped == {"d": 12}
    Log(TABLES).read(partition.progress, len(TABLES), 0.0)
    for draft in partition.progress.replays():
        it.work(partition, draft.table)
    await it.tick()
    await it.tick()
    assert partition.is_to_reread is is_dropped


async def test_work_that_was_cancelled_is_awaited_before_its_table_is_asked(loader):
    it = loader()
    partition = it.hold(0, TABLES)
    it.send(partition, *STALLED)
    sending = asyncio.Event()

    async def in_a_thread():
        try:
            await asyncio.Event().wait()
        finally:
            await sending.wait()

    for table in STALLED:
        it.tasks.pop((partition.partition, table)).cancel()
        it.tasks[partition.partition, table] = asyncio.create_task(in_a_thread())
        it.left.stalled.refused(partition.partition, table)
    partition.loading_bytes = 160
    await asyncio.sleep(0)
    await it.tick()
    await it.tick()
    assert not partition.is_to_reread
    waiting = asyncio.create_task(it.left.ended(partition.partition))
    await asyncio.sleep(0)
    assert not waiting.done()
    sending.set()
    async with asyncio.timeout(5):
        await waiting
    await it.tick()
    assert partition.is_to_reread

"""Left tables: what a loader drops of tables that stand still, and when it reads that again.

Where memory is short, the buffers of tables that stand still are dropped first; their blocks stay,
whose inserts are tried again and again. If that is not enough, a table is left: its block leaves
the memory as well. The intent goes on naming the block, so that nothing is lost but time: once the
table takes blocks, the partition begins anew from the intent, as after a takeover. Until then the
table is asked now and then.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, MutableMapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from aggregator.intents.table_range import TableRange
from aggregator.loader.block_partition import BlockPartition
from aggregator.loader.forming_room import FormingRoom
from aggregator.loader.loader_assignment import LoaderAssignment
from aggregator.loader.seal_rule import PARTITION_BLOCKS, SealRule
from aggregator.loader.stalled_tables import StalledTables
from balancer.topic_partition import TopicPartition
from replicator.orders.order_records import SkipReplay

log = logging.getLogger(__name__)

ASK_SECONDS, ASK_SECONDS_MAX = 0.5, 4.0
"""First and longest pause between two questions to a table that was left."""

Tasks = MutableMapping[tuple[TopicPartition, str], asyncio.Task[None]]


class AskedStore(Protocol):
    """Tables, as far as those that stand still ask them."""

    def refuses(self, topic: str, table: str) -> bool:
        """Returns True if the server has refused the last insert into a table."""

    async def takes_blocks(self, topic: str, table: str, *, may_be_missing: bool) -> bool:
        """Returns True if a table is there, and takes an insert without rows.

        Args:
            may_be_missing: nothing was sent to the table, so that its records become dead letters
                if it is not there.
        """


@dataclass(eq=False)
class LeftTables:
    """Tables of a loader that stand still, and their memory.

    Args:
        tasks: work on the tables' blocks. A table that was left has its question there.
        wake: set when a table takes blocks again.
    """

    assignment: LoaderAssignment
    store: AskedStore
    rule: SealRule
    room: FormingRoom
    tasks: Tasks
    wake: asyncio.Event
    stalled: StalledTables = field(default_factory=StalledTables)
    _ending: dict[asyncio.Task[None], TopicPartition] = field(init=False, default_factory=dict)
    """Cancelled work on blocks: a thread may have one still to send."""

    # -- memory

    def keep_memory(
        self, held: Sequence[BlockPartition], rule: SealRule, now: float
    ) -> list[BlockPartition]:
        """Drops what takes the room of others, and has partitions begin anew for what can be
        loaded by now. Returns the partitions of which blocks may begin.

        Args:
            rule: that holds now.
            now: by the monotonic clock.
        """
        read_bytes = sum(each.buffered_bytes for each in held)
        going = [each for each in held if not each.is_stopped]
        for partition in going:
            self._ask_again(partition, now)
        read_bytes += self._bound_replays(going, read_bytes, now)
        is_full = rule.stops_reading(0, read_bytes) or self.room.is_jammed(now)
        others_wait = is_full and any(self._needs_memory(each, now) for each in going)
        may_begin = []
        for partition in going:
            if not self._begins_anew(partition, held, read_bytes, now):
                self._make_room(partition, rule, now, others_wait=others_wait)
                may_begin.append(partition)
        return may_begin

    def _needs_memory(self, partition: BlockPartition, now: float) -> bool:
        """Returns True if a partition has records to read or to load of a table that goes on."""
        progress, end = partition.progress, partition.source_end
        standing = self.stalled.standing(partition.partition, now)
        if progress.tables and standing >= set(progress.tables):
            return False
        return end is None or progress.position < end or progress.buffered_bytes > 0

    def _make_room(
        self, partition: BlockPartition, rule: SealRule, now: float, *, others_wait: bool
    ) -> None:
        """Drops records of tables that stand still where they take the room of others.

        Args:
            others_wait: other partitions of the loader need the memory.
        """
        place, progress = partition.partition, partition.progress
        is_full = progress.buffered_bytes >= rule.partition_bytes_max
        if not (others_wait or is_full or rule.stops_reading(partition.buffered_bytes, 0)):
            return
        for table in sorted(self.stalled.standing(place, now)):
            if self.store.refuses(place.topic, table):
                self.stalled.refused(place, table)
        found = self.stalled.stalled(place, now, others_wait=others_wait)
        is_all = found >= set(progress.tables)
        if not found or (is_all and not others_wait):
            return
        self._drop(partition, sorted(found))
        leaving = self.stalled.may_leave(place, found, now)
        blocks = {it: size for it in sorted(leaving) if (size := progress.block_bytes(it))}
        for table in blocks if others_wait else sorted(rule.largest(blocks)):
            self._leave(partition, table, now, has_failed=True)
            self._tell(partition, table, "its block, and its records from there on,")
        # Whatever else was read of it would be dropped as well.
        partition.is_waiting = is_all and progress.dropped.keys() >= set(progress.tables)

    def _drop(self, partition: BlockPartition, tables: Iterable[str]) -> None:
        """Drops the buffers of tables."""
        progress = partition.progress
        before = set(progress.dropped)
        for table in tables:
            progress.drop(table)
        for table in progress.dropped.keys() - before:
            self._tell(partition, table, "its records from there on")

    def _bound_replays(self, held: Sequence[BlockPartition], read_bytes: int, now: float) -> int:
        """Leaves blocks that are read again, where all of them would take too much memory. Returns
        the bytes of the others.

        One is always kept, so that each is loaded at last.
        """
        kept = 0
        for partition in held:
            own = 0
            for table in partition.progress.replaying:
                size = partition.progress.block_bytes(table)
                is_too_much = read_bytes + kept + size > self.rule.read_bytes_max or (
                    own and own + size > PARTITION_BLOCKS * self.rule.bytes_max
                )
                if kept and size and is_too_much:
                    self._leave(partition, table, now, has_failed=False)
                    continue
                own, kept = own + size, kept + size
        return kept

    # -- reading again

    def _begins_anew(
        self,
        partition: BlockPartition,
        held: Sequence[BlockPartition],
        read_bytes: int,
        now: float,
    ) -> bool:
        """Has a partition begin anew if tables are back of which records were dropped. Returns True
        if no block of it may begin until then."""
        place, progress = partition.partition, partition.progress
        is_reading = not progress.has_caught_up or bool(progress.replaying)
        if partition.is_settling or (is_reading and not partition.is_waiting):
            return False
        self.stalled.has_caught_up(place, now)
        if all((place, table) in self.tasks for table in progress.dropped):
            return False
        readings = self.stalled.readings([each.partition for each in held])
        expected = (readings + 1) * self.rule.bytes_max
        if readings and read_bytes + expected > self.rule.read_bytes_max:
            return False
        if not self.stalled.may_read_again(place, now):
            return False
        standing = self.stalled.standing(place, now)
        if any(each == place and table not in standing for each, table in self.tasks):
            # What is under way may end: it would have to be looked for otherwise.
            return True
        partition.left_behind = {
            table: min(found)
            for table in sorted(standing)
            if (found := [*progress.first_of(table)])
        }
        partition.is_to_reread = True
        self.stalled.begin_reading(place, now)
        return True

    def _ask_again(self, partition: BlockPartition, now: float) -> None:
        """Asks the tables that were left when the partition began anew."""
        tables, partition.left_behind = partition.left_behind, {}
        for table in tables:
            self._leave(partition, table, now, has_failed=False)

    def _leave(
        self, partition: BlockPartition, table: str, now: float, *, has_failed: bool
    ) -> None:
        place = partition.partition
        partition.progress.leave(table)
        self.stalled.left(place, table, now, has_failed=has_failed)
        before = self.tasks.get((place, table))
        if before is not None:
            before.cancel()
            self._ending[before] = place
            before.add_done_callback(self._ended)
        pause = self.stalled.pause_seconds(place, table, now)
        block = partition.progress.in_flight.get(table)
        asked = partial(self._takes_blocks, partition, table, block)
        asking = asyncio.create_task(_asked(asked, before, pause))
        asking.add_done_callback(lambda _: self.wake.set())
        self.tasks[place, table] = asking

    async def _takes_blocks(
        self, partition: BlockPartition, table: str, block: TableRange | None
    ) -> bool:
        """Returns True if a table takes blocks, or an operator has dropped the one of it."""
        if block is not None and skip_order(self.assignment, partition, table, block):
            return True
        is_unsent = block is None or not block.schema
        topic = partition.partition.topic
        return await self.store.takes_blocks(topic, table, may_be_missing=is_unsent)

    def _ended(self, task: asyncio.Task[None]) -> None:
        del self._ending[task]
        if not task.cancelled():
            task.exception()  # read here; an error of the committer ends the session by itself

    async def ended(self, place: TopicPartition | None = None) -> None:
        """Waits for the end of work that was cancelled, of one partition or of all."""
        waiting = [task for task, each in self._ending.items() if place in (None, each)]
        if waiting:
            await asyncio.wait(waiting)

    def _tell(self, partition: BlockPartition, table: str, what: str) -> None:
        log.warning(
            "event=table-left-behind %s %s-%d table=%s offset=%d: its block stands still; %s are "
            "read again once the table takes blocks",
            self.assignment.log_fields,
            *partition.partition,
            table,
            partition.progress.dropped[table],
            what,
        )


def skip_order(
    assignment: LoaderAssignment, partition: BlockPartition, table: str, block: TableRange
) -> SkipReplay | None:
    """Returns the operator's order to drop a block of a table; None if it has to be loaded."""
    return assignment.orders.skipped(
        assignment.cluster,
        *partition.partition,
        table,
        block.begin,
        block.end,
        partition.intent.incarnation_at(block.begin),
    )


async def _asked(
    takes_blocks: Callable[[], Awaitable[bool]], before: asyncio.Task[None] | None, pause: float
) -> None:
    """Returns once a table takes blocks; asks it after a pause, once a former task ended."""
    if before is not None:
        await asyncio.wait([before])
    await asyncio.sleep(pause)
    pause = ASK_SECONDS
    while not await takes_blocks():
        await asyncio.sleep(pause)
        pause = min(2 * pause, ASK_SECONDS_MAX)

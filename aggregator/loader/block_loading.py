"""Block loading: a block is sent again until it is stored for good."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import math
import random
import time
from asyncio import Future
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import numpy as np

from aggregator.loader.counters import (
    BLOCK_BYTES,
    BLOCK_SECONDS,
    BLOCKS,
    BLOCKS_RECOGNIZED,
    INSERT_ERRORS,
    INSERT_RETRIES,
    QUORUM_WAIT_SECONDS,
    QUORUM_WAITS,
    ROWS,
    LoaderCounter,
)
from aggregator.loader.loader_counts import LoaderCounts
from aggregator.loader.pause_watch import PauseWatch
from aggregator.store.block_attempts import BlockAttempts, Step
from aggregator.store.insert_errors import ErrorClass, InsertProblem
from aggregator.store.outgoing_block import OutgoingBlock
from aggregator.store.recognition import Decision, Mask, Verdict
from aggregator.store.retry import CONTENTION_CODES, RetryPolicy
from aggregator.store.shard_store import NotStored, ShardStore
from aggregator.tables.native_block import NativeBlock
from replicator.runtime.clock import monotonic
from replicator.runtime.report_once import ReportOnce
from replicator.runtime.run_in_thread import run_in_thread

log = logging.getLogger(__name__)

PATIENCE_SECONDS = 10.0
"""Time for which contention is nothing to report."""
RELEASE_PART = 0.9
"""Part of its parts to which a held table has to fall."""
HOLD_SECONDS_MAX = 60.0
"""Time after which a held table is tried again, whatever its parts."""
DIGEST_DIGITS = 12
REFUSALS = frozenset([ErrorClass.STOP, ErrorClass.HOLD_TABLE, ErrorClass.REFRESH])


class TableChanged(Exception):
    """Table that is gone, or has other columns than the block. Read its schema again, form the
    block again, and load it as one that may have been sent."""

    def __init__(self, problem: InsertProblem) -> None:
        super().__init__(problem.text)
        self.problem = problem


class BlockRefused(Exception):
    """Block that the server does not take before an operator acts. Form it again after a pause, and
    load it as one that may have been sent: its forms need no memory until then.

    Args:
        pause_seconds: as the retry policy has it.
    """

    def __init__(self, problem: InsertProblem, pause_seconds: float) -> None:
        super().__init__(problem.text)
        self.pause_seconds = pause_seconds


@dataclass(eq=False)
class BlockLoading:
    """Loads blocks into one shard.

    Args:
        slots: limits the inserts that run at the same time.
        log_fields: fields of the loader in each log line.
    """

    store: ShardStore
    policy: RetryPolicy
    slots: asyncio.Semaphore
    log_fields: str
    watch: PauseWatch = field(default_factory=PauseWatch)
    loader_counts: LoaderCounts = field(default_factory=LoaderCounts)
    problems: dict[str, InsertProblem] = field(init=False, default_factory=dict)
    """Problem of each table that cannot be loaded now."""
    reports: ReportOnce = field(init=False, default_factory=ReportOnce)
    """Trouble of each table that was logged."""
    _held: dict[str, asyncio.Event] = field(init=False, default_factory=dict)
    _turns: dict[str, asyncio.Lock] = field(
        init=False, default_factory=lambda: defaultdict(asyncio.Lock)
    )

    @property
    def errors(self) -> Counter[str]:
        """Number of errors by ClickHouse's code; "socket" for those of the connection."""
        return self.loader_counts.by_label(INSERT_ERRORS, "code")

    def refuses(self, table: str) -> bool:
        """Returns True if the server has refused the last insert into a table, which repeating
        cannot help by itself."""
        problem = self.problems.get(table)
        return problem is not None and problem.error_class in REFUSALS

    def is_held(self, table: str) -> bool:
        """Returns True while nothing is inserted into a table because it has too many parts."""
        return table in self._held

    async def load(self, block: OutgoingBlock, *, is_doubtful: bool) -> None:
        """Returns once the block is stored, on as many replicas as the quorum demands.

        Args:
            is_doubtful: the block may have been sent before.

        Raises:
            TableChanged, BlockRefused: form the block again.
            CannotBeRecognized: park the partition.
        """
        may_be_stored = is_doubtful or self._is_late(block)
        attempts = BlockAttempts(quorum=self.store.quorum, is_doubtful=may_be_stored)
        trouble = _Trouble(self, block)
        self.loader_counts.show_table(block.name.topic, block.name.table)
        async with self.watch.running():
            await self._load(block, attempts, trouble)
        trouble.end()
        self._count(BLOCKS, block)
        self._count(ROWS, block, block.native.rows)
        self._count(BLOCK_BYTES, block, block.native.size_bytes)
        self._count(BLOCK_SECONDS, block, trouble.seconds)

    def _count(self, counter: LoaderCounter, block: OutgoingBlock, amount: float = 1) -> None:
        self.loader_counts.add(counter, block.name.topic, block.name.table, amount=amount)

    def _is_late(self, block: OutgoingBlock) -> bool:
        """Returns True if so much time has passed since the block was sealed that a successor may
        have sent it.

        The wall clock may be set back meanwhile, the monotonic one stands still in a machine that
        is suspended: the longer time counts.
        """
        by_clock = time.time() - block.sealed_at_ms / 1000
        age_seconds = max(by_clock, time.monotonic() - block.sealed_at)
        return block.has_coordinates and age_seconds > self.watch.pause_seconds

    async def _load(self, block: OutgoingBlock, attempts: BlockAttempts, trouble: _Trouble) -> None:
        decided_at = known_at = time.monotonic()
        looks = inserts = 0
        native, digest, encoded = block.native, block.part, None
        while (step := attempts.step) is not Step.DONE:
            await self._released(block.name.table)
            # Refused by then, as a rule; a successor may have sent it, or what a loss left of it.
            waited = time.monotonic() - known_at
            if step is Step.SEND and block.has_coordinates and waited > self.watch.pause_seconds:
                attempts.doubt()
                step = Step.LOOK
            try:
                if step is Step.LOOK:
                    decided_at = time.monotonic()
                    decision = await self._look(block, attempts, trouble)
                    attempts.looked(decision)
                    known_at = time.monotonic()
                    if decision.verdict is Verdict.DONE and not attempts.is_acknowledged:
                        self._count(BLOCKS_RECOGNIZED, block)
                    if decision.verdict is Verdict.LOOK_AGAIN:
                        looks += 1
                        trouble.wait(decision.why)
                        await asyncio.sleep(self.policy.look_pause(looks, random.random()))
                    continue
                if attempts.lacking is not encoded:
                    encoded = attempts.lacking
                    native, digest = await self._encoded(block, encoded)
                async with self._turn(block), self.slots:
                    if block.has_coordinates and self.watch.was_paused(since=decided_at):
                        attempts.doubt()
                        continue
                    if inserts:
                        self._count(INSERT_RETRIES, block)
                    inserts += 1
                    await self._sent(block, native, digest)
                attempts.acknowledged()
            except NotStored as error:
                attempts.failed(error.problem)
                await self._after(error.problem, trouble)

    async def _sent(self, block: OutgoingBlock, native: NativeBlock, digest: str) -> None:
        """Makes one attempt to insert a block. Raises NotStored."""
        not_after = self._not_after(block)
        sending = run_in_thread(self.store.insert, block, native, digest, not_after)
        try:
            await asyncio.shield(sending)
        except asyncio.CancelledError:
            # The thread may have the block still to send. Whoever looks for it next has to find it
            # at the server, or know that it is not sent any more.
            sending.add_done_callback(Future.exception)
            await asyncio.wait([sending], timeout=self.watch.pause_seconds)
            raise

    def _not_after(self, block: OutgoingBlock) -> float:
        """Returns the time until which a thread has to send a block that can be looked for."""
        if not block.has_coordinates:
            return math.inf
        return time.monotonic() + self.watch.pause_seconds

    async def _look(
        self, block: OutgoingBlock, attempts: BlockAttempts, trouble: _Trouble
    ) -> Decision:
        def look() -> Decision:
            return self.store.look(
                block,
                is_same=block.is_as_intended and not attempts.was_split,
                is_patient=trouble.seconds < self.store.insert_seconds,
            )

        async with self.slots:
            return await run_in_thread(look)

    @staticmethod
    async def _encoded(block: OutgoingBlock, lacking: Mask | None) -> tuple[NativeBlock, str]:
        if lacking is None:
            return block.native, block.part
        digest = part_digest(lacking, block.part)
        return await run_in_thread(block.rest, lacking), digest

    @asynccontextmanager
    async def _turn(self, block: OutgoingBlock) -> AsyncIterator[None]:
        """Waits for the turn of a table: two quorum inserts into it would refuse each other."""
        if self.store.quorum < 2:
            yield
            return
        turn, began = self._turns[block.name.table], time.monotonic()
        is_taken = turn.locked()
        async with turn:
            if is_taken:
                self._count(QUORUM_WAITS, block)
                self._count(QUORUM_WAIT_SECONDS, block, time.monotonic() - began)
            yield

    async def _after(self, problem: InsertProblem, trouble: _Trouble) -> None:
        """Waits as long as the problem demands. Raises TableChanged, BlockRefused."""
        name, code = trouble.block.name, str(problem.code or "socket")
        self.loader_counts.add(INSERT_ERRORS, name.topic, name.table, code)
        trouble.begin(problem)
        if problem.error_class is ErrorClass.REFRESH:
            raise TableChanged(problem)
        if problem.error_class is ErrorClass.HOLD_TABLE:
            await self._hold(trouble.table)
            return
        pause = self.policy.pause(problem, trouble.failures, random.random())
        if problem.error_class is ErrorClass.STOP and trouble.block.has_coordinates:
            raise BlockRefused(problem, pause)
        await asyncio.sleep(pause)

    async def _released(self, table: str) -> None:
        """Waits while the table is held."""
        while (held := self._held.get(table)) is not None:
            await held.wait()

    async def _hold(self, table: str) -> None:
        """Holds a table until merges have caught up.

        Inserts that are refused meanwhile wait for the first one, which looks after the table.
        """
        if table in self._held:
            return
        released = self._held[table] = asyncio.Event()
        try:
            async with asyncio.timeout(HOLD_SECONDS_MAX):
                most = parts = await self._parts(table)
                while parts > most * RELEASE_PART:
                    await asyncio.sleep(self.policy.pause_seconds_max)
                    parts = await self._parts(table)
                    most = max(parts, most)
        except (NotStored, TimeoutError):
            pass  # the next insert tells
        finally:
            del self._held[table]
            released.set()

    async def _parts(self, table: str) -> int:
        return await run_in_thread(self.store.most_parts, table)


def part_digest(rows: Mask, of_part: str = "") -> str:
    """Returns the digest that names some rows of a block, or of a part of it."""
    text = of_part.encode() + np.packbits(rows).tobytes() if of_part else rows.tobytes()
    return hashlib.sha256(text).hexdigest()[:DIGEST_DIGITS]


@dataclass(eq=False)
class _Trouble:
    """Failures of one block in a row. Of a table, a log line tells each other class of error."""

    loading: BlockLoading
    block: OutgoingBlock
    failures: int = 0
    _last: InsertProblem | None = None
    _since: float = field(default_factory=monotonic)

    @property
    def table(self) -> str:
        return self.block.name.table

    @property
    def seconds(self) -> float:
        """Seconds since the block was handed over."""
        return time.monotonic() - self._since

    def begin(self, problem: InsertProblem) -> None:
        """Notes the failure of an insert."""
        is_other = self._last is None or self._last.error_class is not problem.error_class
        self.failures = 1 if is_other else self.failures + 1
        self._last = self.loading.problems[self.table] = problem
        if problem.code not in CONTENTION_CODES or self.seconds > PATIENCE_SECONDS:
            self._report(problem.error_class.value, problem.text)

    def wait(self, why: str) -> None:
        """Notes that the table has to be looked at again."""
        if self.seconds > PATIENCE_SECONDS:
            self._report("look again", why)

    def end(self) -> None:
        """Notes that the block is stored."""
        self.loading.problems.pop(self.table, None)
        if self.loading.reports.settle(self.table):
            log.info(
                "event=insert-works %s block=%s: stored after %.1f s",
                self.loading.log_fields,
                self.block.name,
                self.seconds,
            )

    def _report(self, action: str, text: str) -> None:
        if not self.loading.reports.is_news(self.table, action):
            return
        is_stopped = action == ErrorClass.STOP.value
        log.log(
            logging.ERROR if is_stopped else logging.WARNING,
            "event=%s %s block=%s: %s (%s)",
            "insert-stopped" if is_stopped else "insert-waits",
            self.loading.log_fields,
            self.block.name,
            text,
            action,
        )

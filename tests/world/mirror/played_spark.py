"""Spark of one driver, played: runs epoch after epoch by what the driver has posted.

Each task is a process with its carriers, kept up by the product's own code. A task whose process
dies, or does not answer for long, is run again, as Spark does with those of lost executors.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from contextvars import Context

from replicator.config.topology import Appliance
from replicator.mirror.carrier.receipts import Receipt
from replicator.mirror.driver.carrier_source import CarrierTask, carried, epoch_tasks, who
from replicator.notices.conditions import Conditions
from replicator.spark.driver_command import Term
from replicator.spark.epoch_source import RunningEpoch
from replicator.spark.posting import Posting
from tests.world.process import CURRENT, Process
from tests.world.virtual_loop import in_background

LOOK_SECONDS = 0.1
NOTICE_SECONDS = (0.1, 3.0)
"""Time until Spark runs the task of a dead process again."""
SILENT_SECONDS = 12.0
"""Time after which Spark gives up a process that does not answer."""


class Postings:
    """Posting of one run of a driver, kept in memory.

    Args:
        posted: called with each posting.
    """

    def __init__(self, posted: Callable[[Posting], object]) -> None:
        self._posting: Posting | None = None
        self._posted = posted

    def write(self, posting: Posting) -> None:
        writer = CURRENT.get()
        if writer is None or not writer.is_dead:
            self._posting = posting
            self._posted(posting)

    def read(self) -> Posting | None:
        return self._posting


class PlayedSpark:
    """Spark with its tasks.

    Args:
        carry: runs a carrier once, as carrier.carry.
        started: called with each new process, and the term of its driver.
        slots: tasks that can run at once.
    """

    def __init__(
        self,
        appliance: Appliance,
        postings: Postings,
        dice: random.Random,
        carry: Callable[..., Awaitable[list[Receipt]]],
        started: Callable[[Process, Term], object],
        slots: Callable[[], int],
    ) -> None:
        self._appliance, self._postings, self._dice = appliance, postings, dice
        self._carry, self._started = carry, started
        self.count_slots = slots
        self._running: list[Process] = []
        self.idle = asyncio.Event()
        """Set while no epoch runs."""
        self.idle.set()
        self.epoch: RunningEpoch | None = None
        """Epoch that runs."""
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        # Not a part of the driver's process: Spark goes on while that is stopped.
        self._task = Context().run(in_background, self._run())

    def abandon(self, linger_share: float) -> None:
        """Begins no task any more; running ones are killed, except for a share of them."""
        if self._task:
            self._task.cancel()
        for process in self._running:
            if not process.has_ended and self._dice.random() >= linger_share:
                process.kill()

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            posting = self._postings.read()
            if posting is None or posting.stop or not posting.plan.partitions:
                continue
            tasks = epoch_tasks(self._appliance, posting)
            self.epoch = RunningEpoch(time.monotonic(), tasks[0].seconds)
            self.idle.clear()
            await asyncio.gather(*(self._done(each) for each in tasks))
            self.epoch = None
            self.idle.set()

    async def _done(self, each: CarrierTask) -> None:
        while True:
            process = self._start(each)
            self._running.append(process)
            has_ended = await self._ended(process)
            self._running.remove(process)
            if has_ended:
                return

    def _start(self, each: CarrierTask) -> Process:
        first = each.assignments[0]
        numbers = ",".join(str(it.number) for it in each.assignments)
        name = f"carrier {numbers} of plan {first.plan_version} of term {first.term.epoch}"
        conditions = [Conditions(who(it)) for it in each.assignments]
        process = Process(name).start(carried(each, conditions, self._carry))
        self._started(process, first.term)
        return process

    async def _ended(self, process: Process) -> bool:
        """Returns True once a process has done its work; False if its task has to be run again."""
        silent_since: float | None = None
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            if process.is_dead:
                await asyncio.sleep(self._dice.uniform(*NOTICE_SECONDS))
                return False
            if process.has_ended:
                return True
            now = time.monotonic()
            silent_since = (silent_since or now) if process.is_stopped else None
            if silent_since is not None and now - silent_since > SILENT_SECONDS:
                return False

"""Term of a driver: its commands are renewed, until a newer driver publishes one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

from typing_extensions import override

from replicator.kafka.client.cluster import Answered, Cluster
from replicator.spark.driver_command import Driver, TermSuperseded, read_command
from replicator.spark.reassignment_delta import ReassignmentDelta

CHECK_SECONDS = 2.0
SUCCESSOR_CHECK_SECONDS = 0.2
# Brokers forget ids and commits that are not used for a week.
PUBLISH_AGAIN_SECONDS = 3600.0
# A driver that acquires the leadership adopts new partitions before its first command.
SUCCESSOR_SECONDS = 20.0


class DriverTerm(Driver):
    """Driver that checks that it still leads.

    Args:
        driver_id: the driver's transactional id, and the group of its commands.
        timeout_ms: of a transaction.
    """

    def __init__(self, cluster: Cluster, driver_id: str, timeout_ms: int = 30_000):
        super().__init__(cluster, driver_id, timeout_ms)
        self._cluster = cluster
        self._publish_again: Callable[[], Awaitable[None]] | None = None

    @override
    async def publish(
        self, plan_version: int, *, stop: bool = False, delta: ReassignmentDelta | None = None
    ) -> None:
        self._publish_again = partial(super().publish, plan_version, stop=stop, delta=delta)
        await self._publish_again()

    async def keep_checking(self) -> None:
        """Checks until cancelled that this driver's command is the last one, and renews it.

        Raises:
            TermSuperseded, Fenced: a newer driver leads.
        """
        published_at = time.monotonic()
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            command = await read_command(self._cluster, self._driver_id)
            if command and command.term != self.term:
                raise TermSuperseded(f"it has {command.term}, this one had {self.term}")
            is_due = time.monotonic() - published_at > PUBLISH_AGAIN_SECONDS
            if is_due and self._publish_again:
                await self._publish_again()
                published_at = time.monotonic()

    async def has_successor(self) -> bool:
        """Returns True when another driver publishes a command within SUCCESSOR_SECONDS, or has
        done so.

        A transaction of our own that timed out looks like a fence as well: the coordinator aborts
        it under a newer epoch.
        """
        with suppress(TimeoutError, Answered):
            async with asyncio.timeout(SUCCESSOR_SECONDS):
                while True:
                    command = await read_command(self._cluster, self._driver_id)
                    ours = self.term
                    if command and command.term != ours and not command.term.is_before(ours):
                        return True
                    await asyncio.sleep(SUCCESSOR_CHECK_SECONDS)
        return False

"""Term of a driver: its commands are renewed, until a newer driver publishes one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from typing_extensions import override

from replicator.kafka.client.cluster import Answered, Cluster
from replicator.spark.driver_command import Driver, TermSuperseded, read_command
from replicator.spark.reassignment_delta import ReassignmentDelta


@dataclass(frozen=True, slots=True, kw_only=True)
class TermPauses:
    """Pauses of a driver that checks that it still leads."""

    check_seconds: float = 2.0
    successor_check_seconds: float = 0.2
    publish_again_seconds: float = 3600.0
    """Brokers forget ids that are not used for a week; commits maybe earlier (renew_within)."""
    successor_seconds: float = 20.0
    """A driver that acquires the leadership adopts new partitions before its first command."""


PAUSES = TermPauses()


class DriverTerm(Driver):
    """Driver that checks that it still leads.

    Args:
        driver_id: the driver's transactional id, and the group of its commands.
        timeout_ms: of a transaction.
    """

    def __init__(
        self,
        cluster: Cluster,
        driver_id: str,
        timeout_ms: int = 30_000,
        pauses: TermPauses = PAUSES,
    ):
        super().__init__(cluster, driver_id, timeout_ms)
        self._cluster = cluster
        self._pauses = pauses
        self._publish_again: Callable[[], Awaitable[None]] | None = None

    def renew_within(self, seconds: float) -> None:
        """Publishes the command again at least so often: it is a committed offset."""
        again = min(self._pauses.publish_again_seconds, seconds)
        self._pauses = replace(self._pauses, publish_again_seconds=again)

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
            await asyncio.sleep(self._pauses.check_seconds)
            command = await read_command(self._cluster, self._driver_id)
            if command and command.term != self.term:
                raise TermSuperseded(f"it has {command.term}, this one had {self.term}")
            is_due = time.monotonic() - published_at > self._pauses.publish_again_seconds
            if is_due and self._publish_again:
                await self._publish_again()
                published_at = time.monotonic()

    async def has_successor(self) -> bool:
        """Returns True when another driver publishes a command soon, or has done so.

        A transaction of our own that timed out looks like a fence as well: the coordinator aborts
        it under a newer epoch.
        """
        with suppress(TimeoutError, Answered):
            async with asyncio.timeout(self._pauses.successor_seconds):
                while True:
                    command = await read_command(self._cluster, self._driver_id)
                    ours = self.term
                    if command and command.term != ours and not command.term.is_before(ours):
                        return True
                    await asyncio.sleep(self._pauses.successor_check_seconds)
        return False

"""The senders of a stint: one for each target broker that leads something of ours."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from replicator.carrier.lanes import Lanes
from replicator.carrier.sender import Sender
from replicator.kafka.cluster import Cluster

LOOK_SECONDS = 0.05


class Senders:
    """Starts them as brokers come to lead, and ends them together.

    Args:
        made: a sender for a broker's number.
    """

    def __init__(self, target: Cluster, lanes: Lanes, made: Callable[[int], Sender]):
        self._target = target
        self._lanes = lanes
        self._made = made
        self.running: dict[int, tuple[Sender, asyncio.Task[None]]] = {}
        self.took = asyncio.Event()
        """Set when lanes were added: they are not to wait for the next look."""

    def wake(self) -> None:
        """There is something to send."""
        for sender, _ in self.running.values():
            sender.wake.set()

    async def run(self) -> None:
        """Until cancelled; raises what ends one of them. Ends none: `end` does."""
        while True:
            leaders = (self._target.leader(*partition) for partition in self._lanes)
            for node in {leader.node for leader in leaders if leader} - self.running.keys():
                sender = self._made(node)
                self.running[node] = sender, asyncio.create_task(sender.run())
            for _, task in self.running.values():
                if task.done():
                    task.result()
            self.took.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await self.took.wait()

    async def end(self) -> None:
        """All of them, where they stand."""
        tasks = [task for _, task in self.running.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

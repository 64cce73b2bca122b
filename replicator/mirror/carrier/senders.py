"""Senders of a carrier session: one for each target broker that leads a carried partition."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from replicator.kafka.client.cluster import Cluster
from replicator.mirror.carrier.pipelines import Pipelines
from replicator.mirror.carrier.sender import Sender

POLL_SECONDS = 0.05


@dataclass(eq=False)
class Senders:
    """Starts senders as brokers become leaders, and ends all of them.

    Args:
        make_sender: makes the sender for a broker id.
    """

    target: Cluster
    pipelines: Pipelines
    make_sender: Callable[[int], Sender]
    running: dict[int, tuple[Sender, asyncio.Task[None]]] = field(init=False, default_factory=dict)

    def wake(self) -> None:
        """Wakes all senders: there are batches to send."""
        for sender, _ in self.running.values():
            sender.wake.set()

    async def run(self) -> None:
        """Runs until cancelled; raises the error of a failed sender. `end` stops the senders."""
        while True:
            leaders = (self.target.leader(*partition) for partition in self.pipelines)
            for node in {leader.node for leader in leaders if leader} - self.running.keys():
                sender = self.make_sender(node)
                self.running[node] = sender, asyncio.create_task(sender.run())
            for _, task in self.running.values():
                if task.done():
                    task.result()
            self.pipelines.added.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL_SECONDS):
                    await self.pipelines.added.wait()

    async def end(self) -> None:
        """Cancels all senders at once."""
        tasks = [task for _, task in self.running.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

"""Trouble watch: reports a cluster problem once it has lasted five seconds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from replicator.kafka.client.brokers import Brokers

LOOK_SECONDS = 5.0


async def watch(cluster: Brokers, say: Callable[[str], None]) -> None:
    """Reports a problem once it has lasted from one look to the next. Runs until cancelled."""
    before = said = ""
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        trouble = cluster.trouble
        if trouble and trouble == before != said:
            say(trouble)
            said = trouble
        before = trouble

"""What a cluster lets us wait for, said once it lasts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from replicator.kafka.brokers import Brokers

LOOK_SECONDS = 5.0


async def watch(cluster: Brokers, say: Callable[[str], None]) -> None:
    """Says a trouble once, when it has lasted from one look to the next. Until cancelled."""
    before = said = ""
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        trouble = cluster.trouble
        if trouble and trouble == before != said:
            say(trouble)
            said = trouble
        before = trouble

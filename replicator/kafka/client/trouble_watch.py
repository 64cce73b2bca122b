"""Trouble watch: reports a cluster problem once it has lasted five seconds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from replicator.kafka.client.brokers import Brokers

CHECK_SECONDS = 5.0


async def watch(cluster: Brokers, report: Callable[[str], None]) -> None:
    """Reports a problem once it has lasted from one check to the next. Runs until cancelled."""
    before = reported = ""
    while True:
        await asyncio.sleep(CHECK_SECONDS)
        trouble = cluster.trouble
        if trouble and trouble == before != reported:
            report(trouble)
            reported = trouble
        before = trouble

"""Rewind of a paused topic: its records are mirrored once more from an earlier offset on."""

from __future__ import annotations

import asyncio
import time

from replicator.audit.window import instant
from replicator.kafka.client.brokers import Unreachable
from replicator.mirror.repair.rewind import EARLIEST, Rewind, Rewound, Start


def start_of(text: str) -> Start:
    """Parses an offset, `earliest`, an instant or how long ago. Raises BadWindow."""
    if text.isdigit():
        return int(text)
    return EARLIEST if text == EARLIEST else f"@{instant(text, time.time_ns() // 1_000_000)}"


async def rewind_topic(
    rewind: Rewind,
    topic: str,
    partitions: frozenset[int],
    start: Start,
    *,
    is_dry_run: bool,
    timeout_seconds: float,
) -> list[Rewound]:
    """Rewinds partitions of a topic, or returns what that would do.

    Args:
        partitions: numbers of partitions; empty for all.

    Raises:
        Unreachable: a cluster did not answer in time; partitions may be rewound.
        CannotRewind, PartlyRewound, Fenced: from the rewind.
    """
    try:
        async with asyncio.timeout(timeout_seconds):
            await rewind.open(topic)
            found = await rewind.partitions(topic, partitions)
            return await (rewind.look if is_dry_run else rewind.rewind)(found, start)
    except TimeoutError:
        raise Unreachable(
            f"given up after {timeout_seconds:g} s: {rewind.trouble}; look again without --yes"
        ) from None
    finally:
        await rewind.close()

"""Expiry of progress by a cluster's clock, and when progress is committed again because of it.

A group coordinator deletes an offset of a group without members once offsets.retention.minutes have
passed since its commit. A transaction coordinator forgets a transactional id that was not used for
transactional.id.expiration.ms. Progress that nobody moves therefore has to be committed again.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from aiokafka.errors import KafkaError
from aiokafka.protocol.admin import DescribeConfigsRequest

from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Cluster

RETENTION_CONFIG = "offsets.retention.minutes"
IDS_CONFIG = "transactional.id.expiration.ms"
ASSUMED_SECONDS = 86_400.0
"""Time that is assumed where no broker tells it. Kafka's own defaults are seven days."""
RENEWED_PART = 1 / 8
"""Part of the shorter time after which a holder commits its progress again."""
UNRENEWED_PART = 1 / 4
"""Part of the retention after which progress counts as renewed by no holder."""
BROKER_RESOURCE = 4
ASK_SECONDS_MAX = 2.0
"""Time limit for each broker's answer: a plan may wait for the slowest one."""
WATCH_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class ProgressExpiry:
    """Times after which a cluster forgets what is not used.

    Args:
        offsets_seconds: retention of committed offsets, the shortest of all brokers, as any of them
            may coordinate a group.
        ids_seconds: the same for transactional ids.
        is_known: some broker has told them.
    """

    offsets_seconds: float = ASSUMED_SECONDS
    ids_seconds: float = ASSUMED_SECONDS
    is_known: bool = False

    @property
    def renewal_seconds(self) -> float:
        """Longest time between two commits of progress by who holds it."""
        return min(self.offsets_seconds, self.ids_seconds) * RENEWED_PART

    def is_due(self, age_seconds: float, *, is_held: bool = False) -> bool:
        """Returns True for progress that others than its holder have to commit again.

        Args:
            age_seconds: since its last commit, at least.
            is_held: its holder may live. Taken over only once the holder has missed several
                renewals, as that fences the holder.
        """
        part = 2 * UNRENEWED_PART if is_held else UNRENEWED_PART
        return age_seconds >= self.offsets_seconds * part

    def __str__(self) -> str:
        minutes = f"{self.offsets_seconds / 60:g}"
        return f"{RETENTION_CONFIG} is {minutes if self.is_known else 'not known'}"


def age_seconds(committed_ms: int, now_ms: int, seen_seconds: float) -> float:
    """Returns for how long progress has been committed, at least.

    A committer's clock that is ahead makes progress look young; then the time counts for which it
    has been seen unchanged.

    Args:
        committed_ms: Unix time of the commit, by its committer's clock; 0 where it is not known.
        seen_seconds: time for which the caller has seen the same commit, by its own clock.
    """
    by_clock = (now_ms - committed_ms) / 1000 if committed_ms else math.inf
    return max(by_clock, seen_seconds)


async def read_expiry(cluster: Cluster) -> ProgressExpiry:
    """Returns what the brokers tell; the assumed times if none does.

    Needs DescribeConfigs on the cluster. Asks once: times that are not known cost more renewals.
    """
    told = await asyncio.gather(*(_told_by(cluster, node) for node in cluster.nodes))
    minutes = [float(each[RETENTION_CONFIG]) for each in told if RETENTION_CONFIG in each]
    ids_ms = [float(each[IDS_CONFIG]) for each in told if IDS_CONFIG in each]
    if not minutes:
        return ProgressExpiry()
    ids_seconds = min(ids_ms) / 1000 if ids_ms else ASSUMED_SECONDS
    return ProgressExpiry(min(minutes) * 60, ids_seconds, is_known=True)


async def watch_renewal(cluster: Cluster, limit: Callable[[float], None]) -> None:
    """Calls `limit` with the longest time between two renewals, now and then, until cancelled."""
    while True:
        limit((await read_expiry(cluster)).renewal_seconds)
        await asyncio.sleep(WATCH_SECONDS)


async def _told_by(cluster: Cluster, node: int) -> dict[str, str]:
    resource = (BROKER_RESOURCE, str(node), [RETENTION_CONFIG, IDS_CONFIG])
    with suppress(OSError, KafkaError, TimeoutError, KeyError, Unreachable):
        async with asyncio.timeout(ASK_SECONDS_MAX):
            return _values(await cluster.send(node, DescribeConfigsRequest([resource])))
    return {}


def _values(response: Any) -> dict[str, str]:
    """Returns the values in an answer to DescribeConfigs; none of a refusal."""
    found = (entries for code, _, _, _, entries in response.resources if not code)
    return {name: value for entries in found for name, value, *_ in entries if value}

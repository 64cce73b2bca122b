"""Leadership of the balancer: only the newest balancer of a region can write placements."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable

from replicator.config.topology import KafkaCluster
from replicator.kafka.admin.admin_error import AdminError
from replicator.kafka.tail.topic_tailer import LogUnreadable
from replicator.orders.balance_log import BalanceLog, NotYet, Publisher, Superseded
from replicator.orders.order_log import OrderLog
from replicator.orders.order_records import AnyRecord, Lease, Placed, key_of
from replicator.runtime.report_once import ReportOnce
from replicator.runtime.run_in_thread import run_in_thread

log = logging.getLogger(__name__)

LEASE_SECONDS = 10.0
RETRY_SECONDS = 0.5
SUCCESSOR_READS, SUCCESSOR_READ_SECONDS = 10, 1.0


class TimedOut(AdminError):
    """Our transaction timed out and nothing was written. Read the log before trying again."""


class PlacementOverruled(AdminError):
    """The log has another placement than this one is based on: a write whose outcome was unknown
    has succeeded after all. Decide anew from the log."""


class BalancerLeadership:
    """Leadership of this balancer: acquired once, held until superseded.

    Args:
        name: of the cluster, shown to people.
        region: the region of this balancer.
        who: unique name of this process, in the records that it writes.
        balance_log: of the region; None: the one in the cluster.
        make_publisher: takes the name, the cluster and the region.
    """

    def __init__(
        self,
        name: str,
        cluster: KafkaCluster,
        region: str,
        who: str,
        *,
        balance_log: BalanceLog | None = None,
        make_publisher: Callable[[str, KafkaCluster, str], Publisher] = Publisher,
    ) -> None:
        self._name, self._cluster, self._region, self._who = name, cluster, region, who
        self._log = balance_log or BalanceLog(name, cluster)
        self._make_publisher = make_publisher
        self._publisher: Publisher | None = None
        self._generations: dict[bytes, int] = {}
        """Generations of the last placements, by their keys, as far as they are known."""
        self._since_ms = _now_ms()
        self._writing = asyncio.Lock()

    async def acquire(self) -> None:
        """Fences older balancers and publishes the lease. Raises AdminError, LogUnreadable or
        Superseded."""
        await run_in_thread(self._log.make_topic)
        self._publisher = await self.opened_producer()
        await self._publish_lease()
        log.info("event=lease region=%s who=%r", self._region, self._who)

    async def write(self, records: Iterable[AnyRecord], tombstones: Iterable[bytes] = ()) -> None:
        """Writes all records and tombstones in one transaction.

        Raises:
            Superseded: a newer balancer is active.
            AdminError, LogUnreadable: the records may not be written; only the log tells.
        """
        try:
            await self._write(records, tombstones)
        except Superseded:
            await self._confirm_successor()
            raise TimedOut(
                self._name, "our transaction timed out, and no newer balancer is active"
            ) from None

    async def _write(self, records: Iterable[AnyRecord], tombstones: Iterable[bytes]) -> None:
        records, tombstones = tuple(records), tuple(tombstones)
        async with self._writing:
            publisher = self._publisher or await self._reacquire()
            # Until the outcome is known, the log has to be read again before the next write. A
            # timed-out transaction of our own also looks like a newer balancer.
            self._publisher = None
            self._check_bases(records)
            # A canceled publish would leave its transaction open until the timeout.
            await asyncio.shield(run_in_thread(publisher.publish, records, tombstones))
            self._generations |= _generations(records)
            for key in tombstones:
                self._generations.pop(key, None)
            self._publisher = publisher

    async def renew(self, others: Callable[[], Iterable[AnyRecord]] = tuple) -> None:
        """Renews the lease periodically, so that an idle balancer notices that it was fenced.

        Args:
            others: returns records that are written with the lease.

        Raises Superseded.
        """
        reports = ReportOnce()
        while True:
            await asyncio.sleep(LEASE_SECONDS)
            try:
                await self._publish_lease(others())
                if reports.settle(self._region):
                    log.info("event=lease region=%s who=%r", self._region, self._who)
            except (AdminError, LogUnreadable) as error:
                if reports.is_news(self._region):
                    log.warning("event=lease-unsaid %s; the placements stay in force", error)

    async def _publish_lease(self, others: Iterable[AnyRecord] = ()) -> None:
        lease = Lease(route=self._region, at_ms=_now_ms(), who=self._who, since_ms=self._since_ms)
        await self.write((lease, *others))

    async def _reacquire(self) -> Publisher:
        """Opens the producer again, unless a newer balancer has published its lease meanwhile."""
        if successor := self._successor(await self._read()):
            raise Superseded(successor)
        publisher = await self.opened_producer()
        # Only now nobody else can write: a balancer that came after the first look is found.
        order_log = await self._read()
        if successor := self._successor(order_log):
            raise Superseded(successor)
        self._generations = _generations(order_log.records.values())
        return publisher

    def _check_bases(self, records: Iterable[AnyRecord]) -> None:
        """Raises PlacementOverruled for a placement that is not based on the last one."""
        for key, generation in _generations(records).items():
            last = self._generations.get(key)
            if last is not None and generation != last + 1:
                raise PlacementOverruled(
                    self._name,
                    f"generation {generation} of {key.decode()} is not written: "
                    f"generation {last} holds",
                )

    async def _confirm_successor(self) -> None:
        """Raises Superseded once the lease of a newer balancer is read; returns if none appears.

        A newer balancer publishes its lease as soon as it has started.
        """
        for _ in range(SUCCESSOR_READS):
            if successor := self._successor(await self._read()):
                raise Superseded(successor)
            await asyncio.sleep(SUCCESSOR_READ_SECONDS)

    async def _read(self) -> OrderLog:
        return await run_in_thread(self._log.read)

    def _successor(self, order_log: OrderLog) -> str | None:
        """Returns a description of the newest lease if it is not ours, or None."""
        lease = order_log.lease(self._region)
        if lease is None or lease.who == self._who:
            return None
        return f"{self._name}: {lease.who} is active since {lease.since_ms} ms"

    async def opened_producer(self) -> Publisher:
        """Fences older balancers, and returns the producer once the coordinator is ready.

        Raises AdminError.
        """
        publisher = self._make_publisher(self._name, self._cluster, self._region)
        reports = ReportOnce()
        while True:
            try:
                await run_in_thread(publisher.open)
                return publisher
            except NotYet as reason:
                if reports.is_news(self._region):
                    log.warning("event=lease-awaited %s; retrying", reason)
                await asyncio.sleep(RETRY_SECONDS)


def _generations(records: Iterable[AnyRecord]) -> dict[bytes, int]:
    """Returns the generations of the placements among records, by their keys."""
    return {key_of(it): it.generation for it in records if isinstance(it, Placed)}


def _now_ms() -> int:
    return time.time_ns() // 1_000_000

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
from replicator.orders.order_records import AnyRecord, Lease, Placed
from replicator.runtime.report_once import ReportOnce
from replicator.runtime.run_in_thread import run_in_thread

log = logging.getLogger(__name__)

LEASE_SECONDS = 10.0
RETRY_SECONDS = 0.5
SUCCESSOR_READS, SUCCESSOR_READ_SECONDS = 10, 1.0


class TimedOut(AdminError):
    """Our transaction timed out and nothing was written. Read the log before trying again."""


class Outdated(AdminError):
    """A write whose outcome was unknown has succeeded after all. Decide anew from the log."""


class BalancerLeadership:
    """Leadership of this balancer: acquired once, held until superseded.

    Args:
        name: of the cluster, shown to people.
        region: the region of this balancer.
        who: unique name of this process, in the records that it writes.
        log: of the region; None: the one in the cluster.
        make_publisher: takes the name, the cluster and the region.
    """

    def __init__(
        self,
        name: str,
        cluster: KafkaCluster,
        region: str,
        who: str,
        *,
        log: BalanceLog | None = None,
        make_publisher: Callable[[str, KafkaCluster, str], Publisher] = Publisher,
    ) -> None:
        self._name, self._cluster, self._region, self._who = name, cluster, region, who
        self._log = log or BalanceLog(name, cluster)
        self._make_publisher = make_publisher
        self._publisher: Publisher | None = None
        self._since_ms = _now_ms()
        self._writing = asyncio.Lock()

    async def acquire(self) -> None:
        """Fences older balancers and publishes the lease. Raises AdminError, LogUnreadable or
        Superseded."""
        await run_in_thread(self._log.make_topic)
        await self.open_producer()
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
        records = tuple(records)
        async with self._writing:
            if self._publisher is None:
                _check_bases(self._name, records, await self._reacquire())
            assert self._publisher
            # A canceled publish would leave its transaction open until the timeout.
            writing = run_in_thread(self._publisher.publish, records, tuple(tombstones))
            try:
                await asyncio.shield(writing)
            except (AdminError, Superseded):
                # The outcome of the producer's transactions is unknown from here on. A timed-out
                # transaction of our own also looks like a newer balancer.
                self._publisher = None
                raise

    async def renew(self) -> None:
        """Renews the lease periodically, so that an idle balancer notices that it was fenced.

        Raises Superseded.
        """
        reports = ReportOnce()
        while True:
            await asyncio.sleep(LEASE_SECONDS)
            try:
                await self._publish_lease()
                if reports.settle(self._region):
                    log.info("event=lease region=%s who=%r", self._region, self._who)
            except (AdminError, LogUnreadable) as error:
                if reports.is_news(self._region):
                    log.warning("event=lease-unsaid %s; the placements stay in force", error)

    async def _publish_lease(self) -> None:
        lease = Lease(route=self._region, at_ms=_now_ms(), who=self._who, since_ms=self._since_ms)
        await self.write((lease,))

    async def _reacquire(self) -> OrderLog:
        """Reopens the producer, unless a newer balancer has published its lease meanwhile.

        Returns the order log as it is from then on, until this balancer writes.
        """
        if successor := self._successor(await self._read()):
            raise Superseded(successor)
        await self.open_producer()
        # Only now nobody else can write: a balancer that came after the first look is found.
        order_log = await self._read()
        if successor := self._successor(order_log):
            self._publisher = None
            raise Superseded(successor)
        return order_log

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

    async def open_producer(self) -> None:
        """Fences older balancers. Waits until the coordinator of the transactional id is ready.

        Raises AdminError.
        """
        publisher = self._make_publisher(self._name, self._cluster, self._region)
        reports = ReportOnce()
        while True:
            try:
                await run_in_thread(publisher.open)
                break
            except NotYet as reason:
                if reports.is_news(self._region):
                    log.warning("event=lease-awaited %s; retrying", reason)
                await asyncio.sleep(RETRY_SECONDS)
        self._publisher = publisher


def _check_bases(name: str, records: Iterable[AnyRecord], order_log: OrderLog) -> None:
    """Raises Outdated if a placement is not based on the last one in the order log.

    Args:
        name: of the cluster, shown to people.
    """
    for placed in records:
        if not isinstance(placed, Placed):
            continue
        last = order_log.placed(placed.route, placed.stream)
        if last is not None and placed.generation != last.generation + 1:
            raise Outdated(
                name,
                f"generation {placed.generation} of stream {placed.stream} is not written: "
                f"generation {last.generation} holds",
            )


def _now_ms() -> int:
    return time.time_ns() // 1_000_000

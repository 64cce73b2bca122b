"""`sluice balance`: one region's balancer, from its start to its end.

1. The balancer fences every earlier balancer, whose placements are refused from then on.
2. It reads the records of its predecessors and of operators, and the sources' traffic history.
3. It looks at the sources periodically. Rounds are periodic too, and start at once after an order
   or when partitions or task slots come or go. The driver follows each placement that is written.
4. On SIGTERM or SIGINT nothing is handed over: carrying goes on under the last placement.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from prometheus_client import CollectorRegistry
from typing_extensions import override

from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Appliance, KafkaCluster, UnknownRegion, load
from replicator.kafka.admin.admin_error import AdminError, AdminUnreachable
from replicator.kafka.client.cluster_ids import ClusterIds, SameCluster
from replicator.notices.notice_writer import notices
from replicator.notices.own_card import own_card
from replicator.orders.balance_log import Superseded
from replicator.orders.order_follower import Follower, OrderFollower
from replicator.orders.order_log import OrderLog
from replicator.placement.rounds.balancer_leadership import BalancerLeadership
from replicator.placement.rounds.metrics import BalanceCollector
from replicator.placement.rounds.rounds import Rounds
from replicator.runtime.daemon import Work, failure, run_until_stopped
from replicator.runtime.exit_codes import Exit, decisive
from replicator.runtime.logs import log_to_stderr
from replicator.runtime.metrics_server import MetricsServer
from replicator.runtime.run_in_thread import run_in_thread

log = logging.getLogger(__name__)

TICK_SECONDS = 0.5
FORESEEN: Mapping[type[BaseException], Exit] = {
    AdminUnreachable: Exit.UNREACHABLE,
    SameCluster: Exit.MISCONFIGURED,
    AdminError: Exit.FAILED,
}


def run(config: str | Path, region: str) -> int:
    """Balances all routes into the region until stopped. Returns the exit code.

    Raises ConfigMistakes or UnknownRegion.
    """
    log_to_stderr()
    appliance = load(config)
    if not appliance.routes_into(region):
        raise UnknownRegion(f"no route leads into {region!r}; add one to routes")
    card = own_card(
        "balance", region, f"balances {', '.join(map(str, appliance.routes_into(region)))}"
    )
    with notices(appliance.region(region), f"balance {region}", card=card):
        daemon = Daemon(appliance, region, own_name())
        return asyncio.run(run_until_stopped(daemon, region, logs_seconds=False))


def own_name() -> str:
    """Returns a name that no other balancer has or had."""
    since = datetime.now(UTC).isoformat(timespec="milliseconds")
    return f"{socket.gethostname()} pid {os.getpid()} since {since}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Makers:
    """Makers of a balancer's parts.

    Args:
        leadership: takes the cluster's name, its settings, the region, and the balancer's name.
        rounds: takes the appliance, the region, and the balancer's name.
        follower: takes a cluster's name, its settings, and what to call with each order log.
    """

    leadership: Callable[[str, KafkaCluster, str, str], BalancerLeadership] = BalancerLeadership
    rounds: Callable[[Appliance, str, str], Rounds] = Rounds
    follower: Callable[[str, KafkaCluster, Callable[[OrderLog], None]], Follower] = OrderFollower


MAKERS = Makers()


class Daemon(Work):
    """Process of one balancer.

    Args:
        who: unique name of this balancer.
    """

    def __init__(
        self, appliance: Appliance, region: str, who: str, makers: Makers = MAKERS
    ) -> None:
        self._appliance, self._region = appliance, region
        self._cluster = appliance.region(region).aggregate
        self._name = ClusterName.aggregate(region)
        self._leadership = makers.leadership(self._name, self._cluster, region, who)
        self._rounds = makers.rounds(appliance, region, who)
        self._make_follower = makers.follower
        self._cluster_ids = ClusterIds(appliance)
        registry = CollectorRegistry()
        registry.register(BalanceCollector(lambda: self._rounds.statuses))
        port, address = appliance.balance.metrics_port, appliance.metrics.address
        self._metrics = MetricsServer(port, address, registry)

    @override
    async def run(self) -> None:
        log.info("event=starting region=%s", self._region)
        self._metrics.start()
        await self._cluster_ids.compare_routes_into(self._region)
        await self._leadership.acquire()
        follower = self._follow_orders()
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._cluster_ids.compare_until_all_answer())
                tasks.create_task(self._leadership.renew(self._rounds.renewed))
                tasks.create_task(self._rounds.watch_sources())
                tasks.create_task(self._keep_rounds())
        finally:
            follower.stop()

    @override
    async def verdict(self, error: BaseException, stop: asyncio.Event) -> Exit:
        decided = decisive(error, (Superseded,))
        if isinstance(decided, Superseded):
            log.error("event=fenced a newer balancer of this region acts: %s", decided)
            return Exit.FENCED
        return failure(decided, FORESEEN)

    @override
    async def wind_down(self, exit_code: Exit) -> None:
        await self._rounds.close()
        await run_in_thread(self._metrics.stop)

    def _follow_orders(self) -> Follower:
        loop = asyncio.get_running_loop()

        def on_change(order_log: OrderLog) -> None:
            with suppress(RuntimeError):  # the event loop is closed: the daemon has ended
                loop.call_soon_threadsafe(self._rounds.update_orders, order_log)

        follower = self._make_follower(self._name, self._cluster, on_change)
        follower.start()
        return follower

    async def _keep_rounds(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(TICK_SECONDS):
                    await self._rounds.orders_changed.wait()
            await self._rounds.tick(self._leadership.write)

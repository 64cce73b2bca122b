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
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from prometheus_client import CollectorRegistry

from replicator.config.mistakes import ConfigMistakes
from replicator.config.topology import Appliance, UnknownRegion, load
from replicator.kafka.admin.admin_error import AdminError, Unreachable
from replicator.kafka.client.cluster_ids import ClusterIds, SameCluster
from replicator.orders.balance_log import Superseded
from replicator.orders.order_follower import OrderFollower
from replicator.orders.order_log import OrderLog
from replicator.placement.rounds.balancer_leadership import BalancerLeadership
from replicator.placement.rounds.metrics import BalanceCollector
from replicator.placement.rounds.rounds import Rounds
from replicator.runtime.exit_codes import Exit, decisive
from replicator.runtime.logs import log_to_stderr
from replicator.runtime.metrics_server import PortTaken, serve
from replicator.runtime.run_in_thread import run_in_thread

log = logging.getLogger(__name__)

TICK_SECONDS = 0.5


def run(config: str | Path, region: str) -> int:
    """Balances all routes into the region until stopped. Returns the exit code."""
    log_to_stderr()
    try:
        appliance = load(config)
        if not appliance.routes_into(region):
            raise UnknownRegion(f"no route leads into {region!r}; add one to routes")
    except (ConfigMistakes, UnknownRegion) as error:
        print(f"sluice: {error}", file=sys.stderr)
        return Exit.MISCONFIGURED
    return asyncio.run(Daemon(appliance, region).live())


class Daemon:
    """Process of one balancer."""

    def __init__(self, appliance: Appliance, region: str) -> None:
        self._appliance, self._region = appliance, region
        self._cluster = appliance.region(region).aggregate
        self._name = f"{region} aggregate"
        who = f"{socket.gethostname()} pid {os.getpid()} since {time.time():.3f}"
        self._leadership = BalancerLeadership(self._name, self._cluster, region, who)
        self._rounds = Rounds(appliance, region, who)
        self._cluster_ids = ClusterIds(appliance)
        self._stop_metrics: Callable[[], None] = lambda: None

    async def live(self) -> Exit:
        """Runs until stopped, superseded or failed. Returns the exit code."""
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        log.info("event=starting region=%s", self._region)
        working = asyncio.create_task(self._work())
        stopping = asyncio.create_task(stop.wait())
        await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        exit_code = Exit.STOPPED
        if not working.done():
            log.info("event=stopping region=%s", self._region)
            working.cancel()
        try:
            await working
        except asyncio.CancelledError:
            pass
        except BaseExceptionGroup as group:
            exit_code = verdict(group)
        except Exception as error:
            exit_code = verdict(error)
        await self._rounds.close()
        await run_in_thread(self._stop_metrics)
        log.info("event=stopped exit=%d", exit_code)
        return exit_code

    async def _work(self) -> None:
        self._serve_metrics()
        await self._cluster_ids.look_at_routes_into(self._region)
        await self._leadership.acquire()
        follower = self._follow_orders()
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._cluster_ids.keep_looking())
                tasks.create_task(self._leadership.renew())
                tasks.create_task(self._rounds.watch_sources())
                tasks.create_task(self._keep_rounds())
        finally:
            follower.stop()

    def _serve_metrics(self) -> None:
        registry = CollectorRegistry()
        registry.register(BalanceCollector(lambda: self._rounds.statuses))
        try:
            port = self._appliance.balance.metrics_port
            self._stop_metrics = serve(port, self._appliance.metrics.address, registry)
        except PortTaken as error:
            log.error("event=no-metrics %s", error)

    def _follow_orders(self) -> OrderFollower:
        loop = asyncio.get_running_loop()

        def on_change(order_log: OrderLog) -> None:
            with suppress(RuntimeError):  # the event loop is closed: the daemon has ended
                loop.call_soon_threadsafe(self._rounds.update_orders, order_log)

        follower = OrderFollower(self._name, self._cluster, on_change)
        follower.start()
        return follower

    async def _keep_rounds(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(TICK_SECONDS):
                    await self._rounds.orders_changed.wait()
            await self._rounds.tick(self._leadership.write)


def verdict(error: BaseException) -> Exit:
    """Returns the exit code for the error that ended the work, and logs that error for the
    operator."""
    match decisive(error, (Superseded,)):
        case Superseded() as superseded:
            log.error("event=fenced a newer balancer of this region acts: %s", superseded)
            return Exit.FENCED
        case Unreachable() as unreachable:
            log.error("event=failed %s", unreachable)
            return Exit.UNREACHABLE
        case SameCluster() as same:
            log.error("event=failed %s", same)
            return Exit.MISCONFIGURED
        case AdminError() as refused:
            log.error("event=failed %s", refused)
        case other:
            log.error("event=failed", exc_info=other)
    return Exit.FAILED

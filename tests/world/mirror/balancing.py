"""Balancers of a region in a world: the product's daemon as processes, two at times."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from replicator.config.topology import Appliance, KafkaCluster
from replicator.kafka.admin.admin_error import AdminError
from replicator.kafka.client.cluster import Cluster
from replicator.kafka.tail.topic_tailer import LogUnreadable
from replicator.orders.balance_log import Publisher, Superseded
from replicator.placement.rounds.daemon import Daemon, Makers
from replicator.runtime.exit_codes import Exit, decisive
from tests.world.blocking import HAS_THREADS
from tests.world.checks.wrong import Wrong, shown
from tests.world.mirror.mirroring import ROUTE
from tests.world.mirror.operating import WorldBalanceLog
from tests.world.mirror.order_topic import OrderTopic, WorldFollower
from tests.world.mirror.parts import Parts
from tests.world.mirror.placement_producer import PlacementProducer
from tests.world.process import Process
from tests.world.virtual_loop import VirtualLoop

REGION = ROUTE.target
RESTART_SECONDS = (0.5, 10.0)
BALANCERS_MAX = 3
SETTINGS = {
    "capacity_mib_per_second": 0.05,
    "carriers_max": 3,
    "sample_seconds": 1.0,
    "round_seconds": 2.0,
    "patience_rounds": 1,
    "calm_rounds": 2,
    "cool_down_seconds": 0.0,
    "lag_seconds_max": 5.0,
    "lag_patience_seconds": 5.0,
}
"""The [balance] table: small carriers, and rounds that move partitions within seconds."""


OnOpen = Callable[["BalancerRun"], object]


def nothing(_: BalancerRun) -> None:
    """Does nothing."""


class BalancerRun:
    """Run of a balancer, from its start to its end.

    Args:
        opening, opened: called with the run before it fences older ones, and once it has.
    """

    def __init__(
        self,
        name: str,
        appliance: Appliance,
        orders: OrderTopic,
        parts: Parts,
        opening: OnOpen,
        opened: OnOpen,
    ) -> None:
        self._opening, self._opened = opening, opened
        self.process = Process(name)
        self.is_fenced = False
        """True after it has ended because of a newer one."""
        self.failure: BaseException | None = None
        """Error that no balancer may end with."""
        self._appliance, self._orders, self._parts = appliance, orders, parts
        self._client = Cluster(
            "east aggregate",
            appliance.region(REGION).aggregate,
            client_id="sluice.balance",
            request_timeout_ms=appliance.replicator.request_timeout_ms,
        )

    def start(self) -> None:
        self.process.start(self._main())

    @property
    def is_running(self) -> bool:
        return not (self.process.is_dead or self.process.has_ended)

    async def _main(self) -> None:
        HAS_THREADS.set(True)
        try:
            daemon = Daemon(self._appliance, REGION, self.process.name, self._makers())
        except Exception as error:
            self.failure = error
            raise
        exit_code = Exit.FAILED
        try:
            await daemon.run()
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            exit_code = await daemon.verdict(error, asyncio.Event())
            self.is_fenced = exit_code is Exit.FENCED
            if not isinstance(decisive(error, ()), (AdminError, LogUnreadable, Superseded)):
                self.failure = error
        finally:
            await daemon.wind_down(exit_code)
            await self._client.close()

    def _makers(self) -> Makers:
        make_producer: Any = partial(
            PlacementProducer,
            self._client,
            opening=partial(self._opening, self),
            opened=partial(self._opened, self),
        )

        def leadership(name: str, cluster: KafkaCluster, region: str, who: str) -> Any:
            return self._parts.balancer_leadership(
                name,
                cluster,
                region,
                who,
                balance_log=WorldBalanceLog(name, self._appliance, region, self._orders),
                make_publisher=partial(Publisher, open_producer=make_producer),
            )

        return Makers(
            leadership=leadership,
            rounds=self._parts.rounds,
            follower=lambda _, __, on_change: WorldFollower(
                self._orders, on_change, self._parts.reader()
            ),
        )


class Balancing:
    """Balancers of one region, of which one is started whenever none runs.

    Args:
        dice: decides when things happen.
        tell: takes lines for the log of the history.
    """

    def __init__(
        self,
        appliance: Appliance,
        orders: OrderTopic,
        parts: Parts,
        loop: VirtualLoop,
        dice: random.Random,
        tell: Callable[[str], object],
    ) -> None:
        self._appliance, self._orders, self._parts = appliance, orders, parts
        self._loop, self._dice, self._tell = loop, dice, tell
        self.runs: list[BalancerRun] = []
        self.opening: OnOpen = nothing
        """Called with each run that is about to fence older ones."""
        self.opened: OnOpen = nothing
        """Called with each run that has fenced older ones, and has not told so."""

    def start(self) -> BalancerRun:
        """Starts a balancer, whether or not another one runs."""
        made = BalancerRun(
            f"balancer {len(self.runs) + 1}",
            self._appliance,
            self._orders,
            self._parts,
            lambda run: self.opening(run),
            lambda run: self.opened(run),
        )
        self.runs.append(made)
        made.start()
        return made

    def running(self) -> list[BalancerRun]:
        """Returns the runs that have not ended, stopped ones too."""
        return [run for run in self.runs if run.is_running]

    def mend(self) -> None:
        for run in self.running():
            if run.process.is_stopped:
                run.process.resume()

    async def keep(self) -> None:
        """Starts a balancer whenever none runs, as a service manager does."""
        ended: set[str] = set()
        while True:
            for run in self.runs:
                if not run.is_running and run.process.name not in ended:
                    ended.add(run.process.name)
                    self._tell(f"{run.process.name} has ended; fenced: {run.is_fenced}")
                    if run.failure is not None and not run.process.is_dead:
                        text = shown(run.failure)  # type: ignore[arg-type]
                        self._loop.fail(Wrong(f"{run.process.name} fails: {text}"))
            if not self.running():
                await asyncio.sleep(self._dice.uniform(*RESTART_SECONDS))
                self.start()
            await asyncio.sleep(0.1)

    async def close(self) -> None:
        for run in self.running():
            run.process.kill()
        for run in self.runs:
            if run.process.main:
                with suppress(BaseException):
                    await run.process.main

"""Daemon of `sluice replicate`: the driver of all routes into one region.

1. While Spark's JVM starts (driver_start.py), the topics of all clusters are described, and created
   and grown on the target. Spark runs an empty epoch. Another driver may still be leading.
2. The driver acquires its term: from here on the carriers of an older driver end.
3. Partitions never mirrored before are adopted. A plan is made, posted and published.
4. Carriers mirror, epoch after epoch, and topics are described periodically. A changed plan is
   posted first and published then, so that carriers that end because of it find it.
5. SIGTERM or SIGINT: stop is posted and published, carriers drain and release, then Spark is
   stopped. The same signal once more ends everything at once; the next start resumes from the
   ledger.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from typing_extensions import override

from replicator.config.topology import Route
from replicator.kafka.admin import admin_error
from replicator.kafka.admin.admin_error import AdminError
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Answered
from replicator.kafka.client.cluster_ids import ClusterIds, SameCluster
from replicator.mirror.carrier.receipts import SCHEMA, STATES, Receipt, from_arrow
from replicator.mirror.driver.carrier_source import carrier_tasks
from replicator.mirror.driver.driver_leadership import DriverLeadership
from replicator.mirror.driver.metrics import (
    SCRAPE_SECONDS,
    ConditionCollector,
    TotalsCollector,
    reports_into,
    serve,
    totals_into,
)
from replicator.mirror.driver.planner import Planner
from replicator.mirror.offset_map.offset_keeper import OffsetKeeper
from replicator.notices.notice_store import NoticeStore
from replicator.runtime.exit_codes import Exit
from replicator.runtime.run_in_thread import run_in_thread
from replicator.spark.driver_daemon import DriverDaemon, EpochKind, Run
from replicator.spark.posting import PostingFile
from replicator.spark.session import SparkGone

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger(__name__)

PUBLISH_SECONDS = 2.0
SPARE_SECONDS = 1.5
FORESEEN: Mapping[type[BaseException], Exit] = {
    Unreachable: Exit.UNREACHABLE,
    admin_error.AdminUnreachable: Exit.UNREACHABLE,
    SameCluster: Exit.MISCONFIGURED,
    AdminError: Exit.FAILED,
    Answered: Exit.FAILED,
    SparkGone: Exit.FAILED,
}
UPKEEP_SECONDS = 30.0


class Daemon(DriverDaemon[DriverLeadership]):
    """A single run of the driver of all routes into a region.

    Args:
        trusted: routes whose partitions are adopted although they are not empty.
    """

    def __init__(self, run: Run, trusted: Collection[Route] = ()) -> None:
        settings = run.appliance.replicator
        planner = Planner(settings.carriers_per_route)
        super().__init__(
            run,
            DriverLeadership(
                run.appliance, run.region, planner, PostingFile(run.posting), run.conditions
            ),
            EpochKind(carrier_tasks, settings.receipts_dir, SCHEMA, report),
            publish_seconds=PUBLISH_SECONDS,
            drain_seconds=settings.drain_seconds + SPARE_SECONDS,
            foreseen=FORESEEN,
        )
        self._trusted = trusted
        self._cluster_ids = ClusterIds(run.appliance)

    @override
    async def run(self) -> None:
        region = self._run.region
        routes = ",".join(map(str, self._run.appliance.routes_into(region)))
        log.info(
            "event=starting region=%s routes=%s master=%s", region, routes, self._run.jvm.master
        )
        await self._cluster_ids.compare_routes_into(region)
        starting = asyncio.ensure_future(self.start_spark())
        await self._leadership.prepare()
        session, epochs = await starting
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._cluster_ids.compare_until_all_answer())
            tasks.create_task(epochs.keep())
            tasks.create_task(self._leadership.report_target_trouble())
            await epochs.warm.wait()
            await self._leadership.acquire(self._trusted, session.count_slots)
            tasks.create_task(self._leadership.keep())
            tasks.create_task(self.end_overdue(epochs))
            tasks.create_task(self._keep_redis())

    async def _keep_redis(self) -> None:
        """Serves metrics from reports in Redis, and keeps offset maps there; neither is vital."""
        region = self._run.appliance.region(self._run.region)
        routes = self._run.appliance.routes_into(self._run.region)
        try:
            reports = reports_into(self._run.appliance, self._run.region)
            totals = TotalsCollector(totals_into(self._run.appliance, self._run.region))
            await run_in_thread(totals.begin)
            notices = NoticeStore(region.redis_url(), region.name, timeout_seconds=SCRAPE_SECONDS)
            conditions = ConditionCollector(notices)
            self._metrics = serve(self._run.appliance.metrics, reports, totals, conditions)
        except Exception:
            log.exception("event=no-metrics")
        await keep_maps(lambda: OffsetKeeper(region, routes))


def report(rows: pa.Table, epoch: int) -> None:
    """Logs the receipts of an epoch."""
    receipts = from_arrow(rows)
    log.info("event=epoch-over epoch=%d %s", epoch, summary(receipts))
    for receipt in receipts:
        if receipt.state == "parked":
            log.error("event=is-parked %s", receipt)


def summary(receipts: Sequence[Receipt]) -> str:
    """Returns a line that sums up one epoch."""
    states = Counter(receipt.state for receipt in receipts)
    seconds = max(r.ended_at for r in receipts) - min(r.began_at for r in receipts)
    totals: dict[str, float] = {
        "plan": max(receipt.plan_version for receipt in receipts),
        "records": sum(receipt.records for receipt in receipts),
        "bytes": sum(receipt.bytes for receipt in receipts),
        "unopened": sum(receipt.batches_unopened for receipt in receipts),
        "opened": sum(receipt.batches_opened for receipt in receipts),
        "partitions": len(receipts),
        **{state: states[state] for state in STATES if states[state]},
        "seconds": round(seconds, 1),
    }
    return " ".join(f"{name}={value}" for name, value in totals.items())


class Keeper(Protocol):
    """Keeper of the maps; `keep` does one round and blocks."""

    def keep(self) -> object: ...


async def keep_maps(make_keeper: Callable[[], Keeper], seconds: float = UPKEEP_SECONDS) -> None:
    """Has the maps kept again and again, whatever fails. Runs until cancelled.

    Args:
        make_keeper: called again until it succeeds, as the password file of Redis may be missing
            for a moment.
        seconds: pause between two rounds.
    """
    keeper: Keeper | None = None
    while True:
        try:
            keeper = keeper or make_keeper()
            await run_in_thread(keeper.keep)
        except Exception:
            log.exception("event=runs-not-kept")
        await asyncio.sleep(seconds)

"""`sluice replicate`: the driver of all routes into one region, from its start to its end.

1. Spark starts and runs an empty epoch, which takes seconds. Meanwhile the topics of all clusters
   are described, and created and grown on the target. Another driver may still be leading.
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
import os
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

from typing_extensions import override

from replicator.config.topology import Appliance, Route, UnknownRegion, load
from replicator.kafka.admin import admin_error
from replicator.kafka.admin.admin_error import AdminError
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Answered, Fenced
from replicator.kafka.client.cluster_ids import ClusterIds, SameCluster
from replicator.mirror.carrier.receipts import SCHEMA
from replicator.mirror.driver.carrier_source import SluiceSource
from replicator.mirror.driver.driver_leadership import DriverLeadership
from replicator.mirror.driver.epoch_report import report
from replicator.mirror.driver.map_upkeep import keep_maps
from replicator.mirror.driver.metrics import TotalsCollector, reports_into, serve, totals_into
from replicator.mirror.driver.planner import Planner
from replicator.mirror.offset_map.offset_keeper import OffsetKeeper
from replicator.runtime.daemon import Work, failure, run_until_stopped
from replicator.runtime.exit_codes import Exit, decisive
from replicator.runtime.logs import log_to_stderr
from replicator.runtime.metrics_server import not_served
from replicator.runtime.private_files import private_folder
from replicator.runtime.run_in_thread import run_in_thread
from replicator.spark.authentication import split_secret
from replicator.spark.driver_command import TermSuperseded
from replicator.spark.epoch_query import EpochQuery
from replicator.spark.epoch_receipts import EpochReceipts
from replicator.spark.posting import ApplianceFile, PostingFile
from replicator.spark.receipts_folder import ReceiptsFolder
from replicator.spark.run_folder import run_folder
from replicator.spark.session import MASTER, Session, SparkGone
from replicator.spark.slots import slots_at_most
from replicator.spark.stream import Stream

log = logging.getLogger(__name__)

PUBLISH_SECONDS = 2.0
SPARE_SECONDS = 1.5
EPOCH_BEGIN_SECONDS = 0.3
QUERY_STOP_SECONDS = 3.0
FORESEEN: Mapping[type[BaseException], Exit] = {
    Unreachable: Exit.UNREACHABLE,
    admin_error.AdminUnreachable: Exit.UNREACHABLE,
    SameCluster: Exit.MISCONFIGURED,
    AdminError: Exit.FAILED,
    Answered: Exit.FAILED,
    SparkGone: Exit.FAILED,
}


def run(
    config: str | Path,
    region: str,
    *,
    master: str = MASTER,
    conf: Mapping[str, str] | None = None,
    adopt: Collection[str] = (),
) -> int:
    """Mirrors all routes into the region until told to stop; returns the exit code.

    Args:
        config: the appliance's file.
        region: the target region.
        master: Spark's master URL. local[*] would never run a failed task again: use local[*,8].
        conf: Spark settings that override ours.
        adopt: routes (west>east) whose topics are adopted although the target holds records of
            them. With it the operator states that these routes never mirrored them.

    Raises:
        ConfigMistakes, UnknownRegion, SlotsUnlimited, NoSecret: the operator's settings are wrong.
    """
    log_to_stderr()
    conf = conf or {}
    appliance = load(config)
    if not appliance.routes_into(region):
        raise UnknownRegion(f"no route leads into {region!r}; add one to routes")
    trusted = frozenset(map(appliance.route, adopt))
    slots_at_most(conf)
    split_secret(master, conf)
    settings = appliance.replicator
    # Holds for Spark and its Python processes too, whose scratch files contain the same data.
    os.umask(0o077)
    try:
        private_folder(settings.state_dir)
        private_folder(settings.receipts_dir)
        with run_folder(settings.state_dir / "replicate" / region) as folder:
            daemon = Daemon(appliance, region, folder, trusted, master=master, conf=conf)
            return asyncio.run(run_until_stopped(daemon, region))
    except OSError as error:
        log.error(
            "event=failed state_dir %s, receipts_dir %s: %s",
            settings.state_dir,
            settings.receipts_dir,
            error,
        )
        return Exit.FAILED


class Daemon(Work):
    """A single run of the driver: begins Spark and the leadership, and ends both.

    Args:
        folder: of this run.
        trusted: routes whose partitions are adopted although they are not empty.
        master, conf: Spark's master URL and the operator's Spark settings.
    """

    def __init__(
        self,
        appliance: Appliance,
        region: str,
        folder: Path,
        trusted: Collection[Route] = (),
        *,
        master: str = MASTER,
        conf: Mapping[str, str],
    ):
        self._appliance = appliance
        self._region = region
        self._folder = folder
        self._trusted = trusted
        self._master, self._conf = master, conf
        self._posting_file = PostingFile(folder / "posting.json")
        self._appliance_file = ApplianceFile(folder / "appliance.pickle")
        self._appliance_file.write(appliance)
        planner = Planner(appliance.replicator.carriers_per_route)
        self._leadership = DriverLeadership(appliance, region, planner, self._posting_file)
        self._cluster_ids = ClusterIds(appliance)
        self._session: Session | None = None
        self._query: EpochQuery | None = None
        self._stop_metrics = not_served

    @override
    async def run(self) -> None:
        routes = ",".join(map(str, self._appliance.routes_into(self._region)))
        log.info("event=starting region=%s routes=%s master=%s", self._region, routes, self._master)
        await self._cluster_ids.compare_routes_into(self._region)
        starting = run_in_thread(Session, self._master, self._folder, self._conf)
        await self._leadership.prepare()
        session = self._session = await starting
        query = self._query = EpochQuery(session, lambda number: self._start_query(session, number))
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._cluster_ids.compare_until_all_answer())
            tasks.create_task(query.keep())
            tasks.create_task(self._leadership.report_target_trouble())
            await query.warm.wait()
            await self._leadership.acquire(self._trusted, session.count_slots)
            tasks.create_task(self._leadership.keep())
            tasks.create_task(self._keep_redis())

    def _start_query(self, session: Session, number: int) -> Stream:
        folder = ReceiptsFolder(self._appliance.replicator.receipts_dir, self._region)
        return Stream(
            session.spark,
            source=SluiceSource,
            options={
                "appliance": str(self._appliance_file.path),
                "posting": str(self._posting_file.path),
                "slots": str(session.count_slots()),
            },
            checkpoint=self._folder / f"checkpoint-{number}",
            epoch_over=EpochReceipts(folder, SCHEMA, report).keep,
        )

    async def _keep_redis(self) -> None:
        """Serves metrics from reports in Redis, and keeps offset maps there; neither is vital."""
        region = self._appliance.region(self._region)
        routes = self._appliance.routes_into(self._region)
        try:
            reports = reports_into(self._appliance, self._region)
            totals = TotalsCollector(totals_into(self._appliance, self._region))
            await run_in_thread(totals.begin)
            self._stop_metrics = serve(self._appliance.metrics, reports, totals)
        except Exception:
            log.exception("event=no-metrics")
        await keep_maps(lambda: OffsetKeeper(region, routes))

    # -- the end

    @override
    async def verdict(self, error: BaseException, stop: asyncio.Event) -> Exit:
        if stop.is_set():
            return Exit.STOPPED
        decided = decisive(error, (Fenced, TermSuperseded))
        return exit_code_of(decided, has_successor=await self._has_successor(decided, stop))

    async def _has_successor(self, error: BaseException, stop: asyncio.Event) -> bool:
        """Returns True when another driver caused a fence.

        Also returns True when the daemon is told to stop meanwhile, as the answer then does not
        matter.
        """
        if not isinstance(error, Fenced):
            return isinstance(error, TermSuperseded)
        asking = asyncio.ensure_future(self._leadership.has_successor())
        stopping = asyncio.ensure_future(stop.wait())
        await asyncio.wait({asking, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if asking.done():
            return asking.result()
        asking.cancel()
        return True

    @override
    async def wind_down(self, exit_code: Exit) -> None:
        """Ends carriers and Spark. The next driver resumes from the ledger whatever remains."""
        if self._session and self._session.is_alive:
            await self._end_carriers(publishes=exit_code is not Exit.FENCED)
        if self._query:
            with suppress(Exception):
                async with asyncio.timeout(QUERY_STOP_SECONDS):
                    await self._query.stop()
        if self._session:
            try:
                async with asyncio.timeout(QUERY_STOP_SECONDS):
                    await run_in_thread(self._session.stop)
            except Exception:
                self._session.kill()
        with suppress(Exception):
            async with asyncio.timeout(PUBLISH_SECONDS):
                await self._leadership.close()
                await run_in_thread(self._stop_metrics)

    async def _end_carriers(self, *, publishes: bool) -> None:
        """Ends the carriers, then waits for their receipts.

        Args:
            publishes: publishes the stop command. Not needed after a newer driver's term, which
                ends them.
        """
        try:
            self._leadership.post_stop()
            if publishes:
                async with asyncio.timeout(PUBLISH_SECONDS):
                    await self._leadership.stop()
        except Exception as error:
            log.warning(
                "event=stop-unheard %s: carriers are cut off", error or type(error).__name__
            )
            return
        # An epoch may be about to begin: its carriers read the stop command at once.
        await asyncio.sleep(EPOCH_BEGIN_SECONDS)
        if self._query:
            await self._query.wait_idle(self._appliance.replicator.drain_seconds + SPARE_SECONDS)

    @override
    def stop_at_once(self) -> None:
        log.warning("event=stopped-at-once: a second signal")
        logging.shutdown()
        # At once after the kill: Spark's processes would log the JVM's death at length.
        if self._session:
            self._session.kill()
        os._exit(Exit.FAILED)


def exit_code_of(error: BaseException, *, has_successor: bool) -> Exit:
    """Returns the exit code for the error that ended the work, and logs it for the operator.

    Args:
        has_successor: another driver of this region has published a command.
    """
    match error:
        case Fenced() | TermSuperseded() if has_successor:
            log.error("event=fenced a newer driver of this region runs, this one ends: %s", error)
            return Exit.FENCED
        case Fenced():
            log.error(
                "event=failed our transaction timed out, no other driver publishes: %s", error
            )
            return Exit.FAILED
    return failure(error, FORESEEN)

"""`sluice replicate`: the driver of all routes into one region, from its start to its end.

1. Spark starts and runs an empty epoch, which takes seconds. Meanwhile the topics of all clusters
   are looked at, and made and grown on the target. Another driver may still be leading.
2. The driver acquires its term: from here on the carriers of an older driver end.
3. Partitions never mirrored before are adopted. A plan is made, posted and published.
4. Carriers carry, epoch after epoch, and topics are looked at again and again. A changed plan is
   posted first and published then, so that carriers that end because of it find it.
5. SIGTERM or SIGINT: stop is posted and published, carriers drain and release, then Spark is
   stopped. The same signal once more ends everything at once; the ledger makes up for it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from replicator.config.mistakes import ConfigMistakes
from replicator.config.topology import Appliance, Route, UnknownRegion, load
from replicator.kafka.admin import admin_error
from replicator.kafka.admin.admin_error import AdminError
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Answered, Fenced
from replicator.kafka.client.cluster_ids import ClusterIds, SameCluster
from replicator.mirror.driver.carrier_source import SluiceSource
from replicator.mirror.driver.driver_leadership import DriverLeadership
from replicator.mirror.driver.epoch_receipts import EpochReceipts
from replicator.mirror.driver.metrics import TotalsCollector, reports_into, serve, totals_into
from replicator.mirror.driver.planner import Planner
from replicator.mirror.driver.receipts_folder import ReceiptsFolder
from replicator.mirror.driver.run_folder import run_folder
from replicator.mirror.offset_map.offset_keeper import OffsetKeeper
from replicator.runtime.exit_codes import Exit, decisive
from replicator.runtime.logs import log_to_stderr
from replicator.runtime.metrics_server import PortTaken
from replicator.runtime.private_files import private_folder
from replicator.runtime.run_in_thread import run_in_thread
from replicator.spark.authentication import NoSecret, split_secret
from replicator.spark.driver_command import TermSuperseded
from replicator.spark.posting import ApplianceFile, PostingFile
from replicator.spark.session import MASTER, Session, SparkGone
from replicator.spark.slots import SlotsUnlimited, slots_at_most
from replicator.spark.stream import Stream

log = logging.getLogger(__name__)

OFFSETS_SECONDS = 30.0
SAY_SECONDS = 2.0
SPARE_SECONDS = 1.5
LOOK_SECONDS = 0.3
QUERY_STOP_SECONDS = 3.0
PAUSE_SECONDS = (1.0, 30.0)


def run(
    config: str | Path,
    region: str,
    *,
    master: str = MASTER,
    conf: Mapping[str, str] | None = None,
    adopt: Collection[str] = (),
) -> int:
    """Carries all routes into the region until told to stop; returns the exit code.

    Args:
        config: the appliance's file.
        region: the target region.
        master: Spark's master URL. local[*] would never run a failed task again: use local[*,8].
        conf: Spark settings that override ours.
        adopt: routes (west>east) whose topics are adopted although the target holds records of
            them. With it the operator states that these routes never mirrored them.
    """
    log_to_stderr()
    try:
        appliance = load(config)
        if not appliance.routes_into(region):
            raise UnknownRegion(f"no route leads into {region!r}; add one to routes")
        trusted = frozenset(map(appliance.route, adopt))
        slots_at_most(conf or {})
        split_secret(master, conf or {})
    except (ConfigMistakes, UnknownRegion, SlotsUnlimited, NoSecret) as error:
        print(f"sluice: {error}", file=sys.stderr)
        return Exit.MISCONFIGURED
    settings = appliance.replicator
    # Holds for Spark and its Python processes too, whose scratch files contain the same data.
    os.umask(0o077)
    try:
        private_folder(settings.state_dir)
        private_folder(settings.receipts_dir)
        with run_folder(settings.state_dir / "replicate" / region) as folder:
            planner = Planner(settings.carriers_per_route)
            daemon = Daemon(appliance, region, folder, planner, trusted)
            return asyncio.run(daemon.live(master, conf or {}))
    except OSError as error:
        log.error(
            "event=failed state_dir %s, receipts_dir %s: %s",
            settings.state_dir,
            settings.receipts_dir,
            error,
        )
        return Exit.FAILED


class Daemon:
    """A single run of the driver: begins Spark and the leadership, and ends both."""

    def __init__(
        self,
        appliance: Appliance,
        region: str,
        folder: Path,
        planner: Planner,
        trusted: Collection[Route],
    ):
        self._appliance = appliance
        self._region = region
        self._folder = folder
        self._trusted = trusted
        self._postings = PostingFile(folder / "posting.json")
        self._loaded = ApplianceFile(folder / "appliance.pickle")
        self._loaded.write(appliance)
        self._office = DriverLeadership(appliance, region, planner, self._postings)
        self._cluster_ids = ClusterIds(appliance)
        self._session: Session | None = None
        self._stream: Stream | None = None
        self._stop_metrics: Callable[[], None] = lambda: None
        self._warm = asyncio.Event()
        self._stop = asyncio.Event()

    async def live(self, master: str, conf: Mapping[str, str]) -> Exit:
        """Runs until stopped, fenced or failed; returns the exit code."""
        self._heed_signals()
        work = asyncio.ensure_future(self._work(master, conf))
        stop = asyncio.ensure_future(self._stop.wait())
        await asyncio.wait({work, stop}, return_when=asyncio.FIRST_COMPLETED)
        began = time.monotonic()
        exit_code = Exit.STOPPED
        if work.done():
            error = decisive(work.exception(), (Fenced, TermSuperseded))
            exit_code = verdict(error, is_succeeded=await self._is_succeeded(error, stop))
        else:
            log.info("event=stopping region=%s", self._region)
            work.cancel()
            await asyncio.wait({work})
        await self._wind_down(tell=exit_code is not Exit.FENCED)
        seconds = time.monotonic() - began
        log.info("event=stopped exit=%d seconds=%.1f", exit_code, seconds)
        return exit_code

    async def _is_succeeded(self, error: BaseException | None, stop: asyncio.Future[Any]) -> bool:
        """Returns True when another driver caused a fence.

        Also returns True when the daemon is told to stop meanwhile, as the answer then does not
        matter.
        """
        if not isinstance(error, Fenced):
            return isinstance(error, TermSuperseded)
        looking: asyncio.Future[Any] = asyncio.ensure_future(self._office.has_successor())
        await asyncio.wait({looking, stop}, return_when=asyncio.FIRST_COMPLETED)
        if looking.done():
            return bool(looking.result())
        looking.cancel()
        return True

    async def _work(self, master: str, conf: Mapping[str, str]) -> None:
        names = ",".join(map(str, self._appliance.routes_into(self._region)))
        log.info("event=starting region=%s routes=%s master=%s", self._region, names, master)
        await self._cluster_ids.compare_routes_into(self._region)
        starting = run_in_thread(Session, master, self._folder, conf)
        await self._office.prepare()
        self._session = await starting
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._cluster_ids.compare_until_all_answer())
            tasks.create_task(self._keep_streaming(self._session))
            tasks.create_task(self._office.complain())
            await self._warm.wait()
            await self._office.take(self._trusted, self._session.count_slots)
            tasks.create_task(self._office.keep())
            tasks.create_task(self._keep_offsets())

    # -- epochs

    async def _keep_streaming(self, session: Session) -> None:
        """Starts the query again when Spark gives up on it because a task failed too often."""
        shortest, longest = PAUSE_SECONDS
        pause, number = shortest, 0
        while True:
            began = time.monotonic()
            number += 1
            try:
                self._stream = await run_in_thread(self._streamed, session, number)
                ended = run_in_thread(self._stream.wait)
                await run_in_thread(self._stream.warm.wait)
                if not ended.done():
                    self._warm.set()
                await ended
            except Exception as error:
                first = str(error).splitlines()[0]
                log.error("event=query-failed again_in_seconds=%.0f: %s", pause, first)
            if time.monotonic() - began > longest:
                pause = shortest
            await asyncio.sleep(pause)
            if not session.is_alive:
                raise SparkGone
            pause = min(pause * 2, longest)

    def _streamed(self, session: Session, number: int) -> Stream:
        folder = ReceiptsFolder(self._appliance.replicator.receipts_dir, self._region)
        return Stream(
            session.spark,
            source=SluiceSource,
            options={
                "appliance": str(self._loaded.path),
                "posting": str(self._postings.path),
                "slots": str(session.count_slots()),
            },
            checkpoint=self._folder / f"checkpoint-{number}",
            epoch_over=EpochReceipts(folder).keep,
        )

    async def _keep_offsets(self) -> None:
        """Keeps offset maps in Redis and serves metrics from reports there; neither is vital."""
        region = self._appliance.region(self._region)
        routes = self._appliance.routes_into(self._region)
        try:
            reports = reports_into(self._appliance, self._region)
            totals = TotalsCollector(totals_into(self._appliance, self._region))
            await run_in_thread(totals.begin)
            self._stop_metrics = serve(self._appliance.metrics, reports, totals)
        except PortTaken as error:
            log.error("event=no-metrics %s", error)
        except Exception:
            log.exception("event=no-metrics")
        keeper: OffsetKeeper | None = None
        while True:
            try:
                # Made here and not before: the password file may be missing for a moment.
                keeper = keeper or OffsetKeeper(region, routes)
                await run_in_thread(keeper.keep)
            except Exception:
                log.exception("event=runs-not-kept")
            await asyncio.sleep(OFFSETS_SECONDS)

    # -- the end

    def _heed_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._signalled)

    def _signalled(self) -> None:
        if not self._stop.is_set():
            self._stop.set()
            return
        log.warning("event=stopped-at-once: a second signal")
        logging.shutdown()
        # At once after the kill: Spark's processes would log the JVM's death at length.
        if self._session:
            self._session.kill()
        os._exit(Exit.FAILED)

    async def _wind_down(self, *, tell: bool) -> None:
        """Ends carriers and Spark. Never raises and never takes long.

        The ledger makes up for everything that does not end gracefully.
        """
        if self._session and self._session.is_alive:
            await self._end_carriers(tell)
        if self._stream:
            with suppress(Exception):
                async with asyncio.timeout(QUERY_STOP_SECONDS):
                    await run_in_thread(self._stream.stop)
        if self._session:
            try:
                async with asyncio.timeout(QUERY_STOP_SECONDS):
                    await run_in_thread(self._session.stop)
            except Exception:
                self._session.kill()
        with suppress(Exception):
            async with asyncio.timeout(SAY_SECONDS):
                await self._office.close()
                await run_in_thread(self._stop_metrics)

    async def _end_carriers(self, tell: bool) -> None:
        """Ends the carriers, then waits for their receipts.

        Args:
            tell: publishes the stop command. Not needed after a newer driver's term, which ends
                them.
        """
        try:
            self._office.post_stop()
            if tell:
                async with asyncio.timeout(SAY_SECONDS):
                    await self._office.stop()
        except Exception as error:
            log.warning(
                "event=stop-unheard %s: carriers are cut off", error or type(error).__name__
            )
            return
        # An epoch may be about to begin: its carriers read the stop command at once.
        await asyncio.sleep(LOOK_SECONDS)
        if self._stream:
            seconds = self._appliance.replicator.drain_seconds + SPARE_SECONDS
            await run_in_thread(self._stream.wait_idle, seconds)


def verdict(error: BaseException | None, *, is_succeeded: bool) -> Exit:
    """Returns the exit code for the error that ended the work, and logs it for the operator.

    Args:
        is_succeeded: another driver of this region has published a command.
    """
    match error:
        case Fenced() | TermSuperseded() if is_succeeded:
            log.error("event=fenced a newer driver of this region runs, this one ends: %s", error)
            return Exit.FENCED
        case Fenced():
            log.error("event=failed our transaction timed out, no other driver speaks: %s", error)
        case Unreachable() | admin_error.AdminUnreachable():
            log.error("event=failed %s", error)
            return Exit.UNREACHABLE
        case SameCluster():
            log.error("event=failed %s", error)
            return Exit.MISCONFIGURED
        case AdminError() | Answered() | SparkGone():
            log.error("event=failed %s", error)
        case _:
            log.error("event=failed", exc_info=error)
    return Exit.FAILED

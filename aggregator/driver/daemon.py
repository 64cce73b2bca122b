"""`sluice aggregate`: the driver of a region's feeds, from its start to its end.

1. Spark starts and runs an empty epoch, which takes seconds. Another driver may still be leading.
2. The driver acquires its term in each cluster that the feeds read, and adopts new partitions.
3. A plan is made, posted and published. Loaders load, epoch after epoch.
4. SIGTERM or SIGINT: stop is posted and published, loaders load what they have read and release,
   then Spark is stopped. The same signal once more ends everything at once; the next start goes on
   from the intents.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from typing_extensions import override

from aggregator.driver.feed_leadership import FeedLeadership
from aggregator.driver.feed_posting import FeedPostingFile
from aggregator.driver.feed_source import FeedSource
from aggregator.driver.metrics import serve
from aggregator.loader import receipts
from replicator.config.topology import Appliance, UnknownRegion, load
from replicator.kafka.admin.admin_error import AdminError, AdminUnreachable
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Answered, Fenced
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
from replicator.spark.posting import ApplianceFile
from replicator.spark.receipts_folder import ReceiptsFolder
from replicator.spark.run_folder import run_folder
from replicator.spark.session import MASTER, Session, SparkGone
from replicator.spark.slots import slots_at_most
from replicator.spark.stream import Stream

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger(__name__)

PUBLISH_SECONDS = 10.0
DRAIN_SECONDS = 22.0
"""Longest wait for loaders: they load what they have read, for 10 s at most, and release."""
EPOCH_BEGIN_SECONDS = 0.3
QUERY_STOP_SECONDS = 3.0
FORESEEN: Mapping[type[BaseException], Exit] = {
    Unreachable: Exit.UNREACHABLE,
    AdminUnreachable: Exit.UNREACHABLE,
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
) -> int:
    """Loads all feeds of the region until told to stop; returns the exit code.

    Args:
        config: the appliance's file.
        master: Spark's master URL. local[*] would never run a failed task again: use local[*,8].
        conf: Spark settings that override ours.

    Raises:
        ConfigMistakes, UnknownRegion, SlotsUnlimited, NoSecret: the operator's settings are wrong.
    """
    log_to_stderr()
    conf = conf or {}
    appliance = load(config)
    if not appliance.feeds_of(region):
        raise UnknownRegion(f"no feed has the region {region!r}; add a table [feeds.<name>]")
    slots_at_most(conf)
    split_secret(master, conf)
    settings = appliance.replicator
    # Holds for Spark and its Python processes too, whose scratch files contain the same data.
    os.umask(0o077)
    try:
        private_folder(settings.state_dir)
        private_folder(settings.receipts_dir)
        with run_folder(settings.state_dir / "aggregate" / region) as folder:
            daemon = Daemon(appliance, region, folder, master=master, conf=conf)
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
        master, conf: Spark's master URL and the operator's Spark settings.
    """

    def __init__(
        self,
        appliance: Appliance,
        region: str,
        folder: Path,
        *,
        master: str = MASTER,
        conf: Mapping[str, str],
    ):
        self._appliance = appliance
        self._region = region
        self._folder = folder
        self._master, self._conf = master, conf
        self._postings = FeedPostingFile(folder / "posting.json")
        self._appliance_file = ApplianceFile(folder / "appliance.pickle")
        self._appliance_file.write(appliance)
        self._leadership = FeedLeadership(appliance, region, self._postings)
        self._session: Session | None = None
        self._query: EpochQuery | None = None
        self._stop_metrics = not_served

    @override
    async def run(self) -> None:
        feeds = ",".join(feed.name for feed in self._appliance.feeds_of(self._region))
        log.info("event=starting region=%s feeds=%s master=%s", self._region, feeds, self._master)
        session = self._session = await run_in_thread(
            Session, self._master, self._folder, self._conf
        )
        query = self._query = EpochQuery(session, lambda number: self._start_query(session, number))
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(query.keep())
            await query.warm.wait()
            self._stop_metrics = await run_in_thread(serve, self._appliance, self._region)
            tasks.create_task(self._leadership.lead(session.count_slots))

    def _start_query(self, session: Session, number: int) -> Stream:
        path = self._appliance.replicator.receipts_dir / "aggregate"
        folder = ReceiptsFolder(path, self._region)
        return Stream(
            session.spark,
            source=FeedSource,
            options={
                "appliance": str(self._appliance_file.path),
                "posting": str(self._postings.path),
                "slots": str(session.count_slots()),
            },
            checkpoint=self._folder / f"checkpoint-{number}",
            epoch_over=EpochReceipts(folder, receipts.SCHEMA, report).keep,
        )

    # -- the end

    @override
    async def verdict(self, error: BaseException, stop: asyncio.Event) -> Exit:
        if stop.is_set():
            return Exit.STOPPED
        decided = decisive(error, (Fenced, TermSuperseded))
        if isinstance(decided, Fenced | TermSuperseded):
            is_known = isinstance(decided, TermSuperseded)
            if is_known or await self._leadership.has_successor():
                log.error("event=fenced a newer driver of this region's feeds runs: %s", decided)
                return Exit.FENCED
            log.error("event=failed our transaction timed out: %s", decided)
            return Exit.FAILED
        return failure(decided, FORESEEN)

    @override
    async def wind_down(self, exit_code: Exit) -> None:
        """Ends loaders and Spark. The next driver goes on from the intents whatever remains."""
        if self._session and self._session.is_alive:
            await self._end_loaders(publishes=exit_code is not Exit.FENCED)
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
            async with asyncio.timeout(QUERY_STOP_SECONDS):
                await self._leadership.close()
                await run_in_thread(self._stop_metrics)

    async def _end_loaders(self, *, publishes: bool) -> None:
        """Ends the loaders, then waits for their receipts.

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
            log.warning("event=stop-unheard %s: loaders are cut off", error or type(error).__name__)
            return
        # An epoch may be about to begin: its loaders read the stop command at once.
        await asyncio.sleep(EPOCH_BEGIN_SECONDS)
        if self._query:
            await self._query.wait_idle(DRAIN_SECONDS)

    @override
    def stop_at_once(self) -> None:
        log.warning("event=stopped-at-once: a second signal")
        logging.shutdown()
        # At once after the kill: Spark's processes would log the JVM's death at length.
        if self._session:
            self._session.kill()
        os._exit(Exit.FAILED)


def report(rows: pa.Table, epoch: int) -> None:
    """Logs the blocks of an epoch, summed up by feed, cluster and table."""
    sums: Counter[tuple[str, str, str, str]] = Counter()
    for row in rows.select(["feed", "cluster", "table", "records", "rows"]).to_pylist():
        key = row["feed"], row["cluster"], row["table"]
        sums[*key, "blocks"] += 1
        sums[*key, "records"] += row["records"]
        sums[*key, "rows"] += row["rows"]
    for feed, cluster, table in sorted({key[:3] for key in sums}):
        log.info(
            "event=blocks epoch=%d feed=%s cluster=%s table=%s blocks=%d records=%d rows=%d",
            epoch,
            feed,
            cluster.replace(" ", "-"),
            table,
            *(sums[feed, cluster, table, each] for each in ("blocks", "records", "rows")),
        )

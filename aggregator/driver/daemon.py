"""Daemon of `sluice aggregate`: the driver of a region's feeds.

1. Spark starts and runs an empty epoch (driver_start.py). Another driver may still be leading.
2. The driver acquires its term in each cluster that the feeds read, and adopts new partitions.
3. A plan is made, posted and published. Loaders load, epoch after epoch.
4. SIGTERM or SIGINT: stop is posted and published, loaders load what they have read and release,
   then Spark is stopped. The same signal once more ends everything at once; the next start goes on
   from the intents.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from typing_extensions import override

from aggregator.driver.feed_leadership import FeedLeadership
from aggregator.driver.feed_posting import FeedPostingFile
from aggregator.driver.feed_source import loader_tasks
from aggregator.driver.metrics import serve
from aggregator.loader import receipts
from replicator.kafka.admin.admin_error import AdminError, AdminUnreachable
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Answered
from replicator.runtime.exit_codes import Exit
from replicator.runtime.run_in_thread import run_in_thread
from replicator.spark.driver_daemon import DriverDaemon, EpochKind, Run
from replicator.spark.session import Session, SparkGone

if TYPE_CHECKING:
    import pyarrow as pa

    from aggregator.driver.upsert_tables import UpsertTables
    from aggregator.upsert.upsert_metrics import UpsertReport

log = logging.getLogger(__name__)

PUBLISH_SECONDS = 10.0
DRAIN_SECONDS = 22.0
"""Longest wait for loaders: they load what they have read, for 10 s at most, and release."""
FORESEEN: Mapping[type[BaseException], Exit] = {
    Unreachable: Exit.UNREACHABLE,
    AdminUnreachable: Exit.UNREACHABLE,
    AdminError: Exit.FAILED,
    Answered: Exit.FAILED,
    SparkGone: Exit.FAILED,
}


class Daemon(DriverDaemon[FeedLeadership]):
    """A single run of the driver of a region's feeds."""

    def __init__(self, run: Run) -> None:
        super().__init__(
            run,
            FeedLeadership(run.appliance, run.region, FeedPostingFile(run.posting), run.conditions),
            EpochKind(
                loader_tasks,
                run.appliance.replicator.receipts_dir / "aggregate",
                receipts.SCHEMA,
                report,
            ),
            publish_seconds=PUBLISH_SECONDS,
            drain_seconds=DRAIN_SECONDS,
            foreseen=FORESEEN,
        )
        self._upsert_tables: UpsertTables | None = None

    @override
    async def run(self) -> None:
        appliance, region = self._run.appliance, self._run.region
        feeds = ",".join(feed.name for feed in appliance.feeds_of(region))
        log.info("event=starting region=%s feeds=%s master=%s", region, feeds, self._run.jvm.master)
        session, epochs = await self.start_spark()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(epochs.keep())
            await epochs.warm.wait()
            tasks.create_task(self._serve_metrics())
            tasks.create_task(self._leadership.lead(session.count_slots))
            if self._has_upsert_tables():
                tasks.create_task(self._keep_upsert_tables(session))
            tasks.create_task(self.end_overdue(epochs))

    def _has_upsert_tables(self) -> bool:
        feeds = self._run.appliance.feeds_of(self._run.region)
        return any(feed.upsert_tables for feed in feeds)

    async def _keep_upsert_tables(self, session: Session) -> None:
        # Imported only where there are some: it is Spark's SQL, and takes a second.
        from aggregator.driver.upsert_tables import UpsertTables

        run = self._run
        self._upsert_tables = UpsertTables(
            run.appliance,
            run.region,
            run.folder,
            run.conditions,
            lambda: self._leadership.order_log,
            self._leadership.has_successor,
        )
        await self._upsert_tables.keep(await run_in_thread(session.sql))

    def _upsert_reports(self) -> list[UpsertReport]:
        return self._upsert_tables.reports() if self._upsert_tables else []

    async def _serve_metrics(self) -> None:
        """Serves metrics; a failure is only logged, since loading does not need them."""
        try:
            self._metrics = await run_in_thread(
                serve, self._run.appliance, self._run.region, self._upsert_reports
            )
        except Exception:
            log.exception("event=no-metrics")


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

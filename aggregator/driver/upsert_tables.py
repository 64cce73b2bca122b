"""Upsert tables of a region: each is kept by itself, and one that fails stops no other."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession

from aggregator.driver.cluster_leadership import WITHOUT_CONFIGS
from aggregator.loader.produced import Produced
from aggregator.store.insert_errors import InsertProblem
from aggregator.upsert.bootstrap import BootstrapPlan, plan_bootstrap
from aggregator.upsert.checkpoint import Checkpoint, Checkpoints
from aggregator.upsert.claims import TickRow, TickTable
from aggregator.upsert.cluster_logs import ClusterLogs
from aggregator.upsert.fact_reader import UpsertFactReader
from aggregator.upsert.facts import LaneNote
from aggregator.upsert.keeper import KeeperParts, TableKeeper, first_of
from aggregator.upsert.key_coordinator import KeyCoordinator, TickResult
from aggregator.upsert.letters import letters_of
from aggregator.upsert.range_reader import RangeReader
from aggregator.upsert.repeatable_insert import RepeatableInserts
from aggregator.upsert.row_facts import order_since
from aggregator.upsert.row_task import store_of
from aggregator.upsert.settle_schedule import SettleSchedule
from aggregator.upsert.settling import Settler
from aggregator.upsert.table_orders import TableOrders
from aggregator.upsert.tick import Lane, Tick
from aggregator.upsert.tick_clock import TickClock, differs_seconds_max
from aggregator.upsert.tick_cut import CutSettings
from aggregator.upsert.tick_posting import TickPostingFile
from aggregator.upsert.tick_store import TickStore
from aggregator.upsert.upsert_metrics import UpsertReport
from aggregator.upsert.visibility import shown_since_s
from replicator.config.cluster_name import ClusterName
from replicator.config.feed_settings import ClickHouseFeed
from replicator.config.topology import Appliance
from replicator.config.upsert_table import UpsertTable
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Answered, Cluster, Fenced
from replicator.kafka.client.epoch_regress import EpochRegress
from replicator.notices.condition import Kind, Subject
from replicator.notices.conditions import Conditions
from replicator.orders.order_log import OrderLog
from replicator.runtime.error_text import error_text
from replicator.runtime.report_once import ReportOnce

log = logging.getLogger(__name__)

ROWS_PER_RECORD = 4096
"""Row numbers of a record whose format may hold several rows."""
KEPT_CONNECTIONS = 2
AGAIN_SECONDS = 5.0
"""Pause before a table that was fenced is kept again: another driver takes over meanwhile."""
LOOKS_PER_TICK = 2
"""Looks at the log ends in the least time between two ticks."""


class Stopping(Exception):
    """The daemon ends: what waits for a server gives up."""


@dataclass(eq=False)
class UpsertTables:
    """Upsert tables of a region's feeds.

    Args:
        folder: of the postings, private to this run of the daemon.
        order_log: returns all orders that are known.
        has_successor: returns True if another driver leads.
    """

    appliance: Appliance
    region: str
    folder: Path
    conditions: Conditions
    order_log: Callable[[], OrderLog]
    has_successor: Callable[[], Awaitable[bool]]
    keepers: list[TableKeeper] = field(init=False, default_factory=list)
    _failures: dict[Subject, str] = field(init=False, default_factory=dict)
    _losses: dict[tuple[str, str], Mapping[Lane, str]] = field(init=False, default_factory=dict)
    _upkeep: dict[Kind, dict[Subject, str]] = field(init=False, default_factory=dict)
    _waiting: ReportOnce = field(init=False, default_factory=ReportOnce)
    _telling: threading.Lock = field(init=False, default_factory=threading.Lock)
    _stopping: threading.Event = field(init=False, default_factory=threading.Event)

    @property
    def tables(self) -> list[tuple[ClickHouseFeed, UpsertTable]]:
        """Upsert tables with their feeds."""
        feeds = [f for f in self.appliance.feeds_of(self.region) if isinstance(f, ClickHouseFeed)]
        return [(feed, table) for feed in feeds for table in feed.upsert_tables]

    async def keep(self, session: SparkSession) -> None:
        """Keeps all tables until cancelled."""
        try:
            async with asyncio.TaskGroup() as tasks:
                for feed, table in self.tables:
                    tasks.create_task(self._keep_table(session, feed, table))
        finally:
            self._stopping.set()

    def reports(self) -> list[UpsertReport]:
        """Returns a report of each table."""
        return [keeper.report_now() for keeper in self.keepers]

    async def _keep_table(
        self, session: SparkSession, feed: ClickHouseFeed, table: UpsertTable
    ) -> None:
        parts = self._parts(session, feed, table)
        about = Subject(feed=feed.name, topic=table.name)
        keeper = TableKeeper(
            parts,
            tell=partial(self._tell, about),
            tell_losses=partial(self.tell_losses, (feed.name, table.name)),
        )
        self.keepers.append(keeper)
        try:
            is_ours = True
            while is_ours:
                is_ours = await self._keep_once(keeper, about)
                await asyncio.sleep(AGAIN_SECONDS if is_ours else 0.0)
        finally:
            for cluster in (parts.home, *(each.cluster for each in parts.logs)):
                await cluster.close()

    async def _keep_once(self, keeper: TableKeeper, about: Subject) -> bool:
        """Keeps a table until it is fenced, or its clusters can be watched no more. Returns False
        once another driver keeps it."""
        found: BaseException | None = None
        try:
            async with asyncio.TaskGroup() as tasks:
                for each in keeper.parts.logs:
                    tasks.create_task(each.watch())
                await keeper.keep()
        except* Exception as group:
            found = first_of(group)
        assert found is not None, "a table is kept until cancelled"
        fields = f"feed={about.feed} table={about.topic}"
        if isinstance(found, Fenced):
            # Another driver of this region, whose term ends this daemon; or a transaction of ours
            # that took too long.
            is_over = await self._is_succeeded()
            log.warning("event=upsert-fenced %s succeeded=%s", fields, str(is_over).lower())
            return not is_over
        self._tell(about, error_text(found))
        log.error("event=upsert-failed %s: %s", fields, error_text(found), exc_info=found)
        return True

    async def _is_succeeded(self) -> bool:
        """Returns True if another driver of the region has published a command."""
        try:
            return await self.has_successor()
        except (Answered, Unreachable, OSError):
            return False

    def _parts(
        self, session: SparkSession, feed: ClickHouseFeed, table: UpsertTable
    ) -> KeeperParts:
        appliance = self.appliance
        name = f"{feed.name}.{table.name}"
        home = self._client(feed.home_of(table), f"sluice-upsert-{name}")
        store = store_of(feed, table, kept=KEPT_CONNECTIONS)
        about = Subject(feed=feed.name, topic=table.name)
        inserts = RepeatableInserts(store, self._wait, partial(self._tell_waiting, about))
        changed, orders = asyncio.Event(), TableOrders(feed.name, table.name)
        facts = UpsertFactReader(appliance, feed.name, table.name, table.state_partitions)
        posting = TickPostingFile(self.folder / f"{name}.ticks")

        def planned(claim: TickRow, lanes: Sequence[Lane]) -> BootstrapPlan:
            return plan_bootstrap(
                store,
                table.name,
                claim,
                lanes,
                retention_hours=table.retention_hours,
                tasks=table.state_partitions,
                wait=self._wait,
            )

        newest = table.columns[table.newest_column] if table.newest_column else None

        def since_order(tick: Tick) -> int:
            return order_since(newest, shown_since_s(tick.time_ms, table.retention_hours))

        def start(checkpoint: Checkpoint, on_tick: Callable[[TickResult], None]) -> KeyCoordinator:
            coordinator = KeyCoordinator(
                session,
                table=name,
                posting=posting,
                checkpoint=checkpoint,
                on_tick=on_tick,
                since_order=since_order,
            )
            coordinator.start()
            return coordinator

        return KeeperParts(
            feed=feed.name,
            table=table,
            home=home,
            tick_store=TickStore(home, feed.name, table.name),
            ticks_of=lambda generation: TickTable(
                store, inserts, feed=feed.name, table=table.name, generation=generation
            ),
            logs=[
                self._logs(each, self._client(each, f"sluice-upsert-{name}"), feed, table, changed)
                for each in feed.clusters
            ],
            changed=changed,
            cut_settings=CutSettings(
                records_max=table.tick_records_max,
                rows_per_record=ROWS_PER_RECORD if feed.format == "row_batches" else 1,
                block_rows=table.block_rows,
            ),
            clock=TickClock(
                store, differs_seconds_max(table.future_seconds_max, table.retention_hours)
            ),
            checkpoints=Checkpoints(appliance.aggregator.upsert_dir / name),
            posting=posting,
            facts=facts,
            planned=planned,
            letters_of=partial(self._letters, feed, table),
            start=start,
            settling=SettleSchedule(
                feed.name,
                table,
                store,
                lambda ticks: Settler(store, inserts, ticks, table.name, wait=self._wait),
                orders,
                self.order_log,
                partial(self._tell_upkeep, about),
            ),
            orders=orders,
            order_log=self.order_log,
        )

    async def _letters(
        self, feed: ClickHouseFeed, table: UpsertTable, tick: Tick, notes: Sequence[LaneNote]
    ) -> list[Produced]:
        """Returns the dead letters of a tick. Raises RangeAway, Forbidden."""
        lanes = {tick.lanes[note.lane] for note in notes if note.letters}
        async with AsyncExitStack() as opened:
            clusters = {}
            for name in {lane.cluster for lane in lanes}:
                cluster = self._client(
                    ClusterName(name), f"sluice-letters-{feed.name}-{table.name}"
                )
                opened.push_async_callback(cluster.close)
                await cluster.open({lane.topic for lane in lanes if lane.cluster == name})
                clusters[name] = cluster
            reader = RangeReader(clusters)
            found = letters_of(reader, feed.name, table.name, tick, notes)
            return [letter async for some in found for letter in some]

    def _client(self, name: ClusterName, client_id: str) -> Cluster:
        settings = self.appliance.replicator
        return Cluster(
            name,
            self.appliance.cluster(name),
            client_id=client_id,
            request_timeout_ms=settings.request_timeout_ms,
            idle_seconds=settings.connections_idle_seconds,
        )

    def _logs(
        self,
        name: ClusterName,
        cluster: Cluster,
        feed: ClickHouseFeed,
        table: UpsertTable,
        changed: asyncio.Event,
    ) -> ClusterLogs:
        return ClusterLogs(
            name,
            WITHOUT_CONFIGS(name, self.appliance.cluster(name)),
            cluster,
            EpochRegress(cluster),
            partial(feed.keeps, table),
            look_seconds=table.tick_seconds / LOOKS_PER_TICK,
            refresh_seconds=self.appliance.aggregator.refresh_seconds,
            changed=changed,
        )

    def _wait(self, seconds: float) -> None:
        if self._stopping.wait(seconds):
            raise Stopping

    def _tell(self, about: Subject, why: str) -> None:
        """Notes why a table stands still; empty once it moves."""
        with self._telling:
            self._failures.pop(about, None)
            if why:
                self._failures[about] = why
            self.conditions.replace(Kind.UPSERT_FAILED, self._failures)

    def _tell_upkeep(self, about: Subject, kind: Kind, text: str) -> None:
        """Notes what is wrong with settling, or with what is dropped; empty once it is over."""
        with self._telling:
            found = self._upkeep.setdefault(kind, {})
            found.pop(about, None)
            if text:
                found[about] = text
            self.conditions.replace(kind, found)

    def _tell_waiting(self, about: Subject, problem: InsertProblem | None) -> None:
        """Notes why the store takes no ends or claims of a table; None once it does. Called by the
        threads that insert."""
        fields = f"feed={about.feed} table={about.topic}"
        if problem is None:
            if self._waiting.settle(about):
                log.info("event=upsert-insert-works %s", fields)
                self._tell(about, "")
        elif self._waiting.is_news(about, f"{problem.error_class} {problem.code}"):
            # Replicas refuse in turn, for one reason: the text of one of them is enough.
            log.warning("event=upsert-insert-waits %s: %s", fields, problem.text)
            self._tell(about, problem.text)

    def tell_losses(self, table: tuple[str, str], losses: Mapping[Lane, str]) -> None:
        """Notes the partitions of a table that take nothing, and logs each once."""
        before = self._losses.get(table)
        if losses == before:
            return
        # None at first: conditions of the daemon before may be over.
        self._losses[table] = losses
        for lane, why in losses.items():
            if before is None or before.get(lane) != why:
                log.error(
                    "event=upsert-lane-stopped feed=%s table=%s cluster=%s %s-%d: %s",
                    *table,
                    lane.cluster.replace(" ", "-"),
                    lane.topic,
                    lane.partition,
                    why,
                )
        self.conditions.replace(
            Kind.UPSERT_LANE_STOPPED,
            {
                Subject(
                    feed=feed, cluster=lane.cluster, topic=lane.topic, partition=lane.partition
                ): f"table {name}: {why}"
                for (feed, name), found in self._losses.items()
                for lane, why in found.items()
            },
        )

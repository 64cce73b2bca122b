"""Traffic of a route's source: measured here, and kept in a history over restarts."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Collection, Mapping, Set

from aiokafka.errors import KafkaError

from balancer.demand.look_back import LookBack
from balancer.demand.window import Rate, Window
from balancer.topic_partition import TopicPartition
from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Appliance, Route
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Answered, Cluster
from replicator.placement.traffic.chosen_history import chosen_history
from replicator.placement.traffic.growth import Densities, densities, windows
from replicator.placement.traffic.log_sampler import LogSampler
from replicator.placement.traffic.log_snapshot import LogSnapshot
from replicator.placement.traffic.traffic_history import (
    COARSE_SECONDS,
    FINE_SECONDS,
    TrafficHistory,
)
from replicator.runtime.error_text import error_text
from replicator.runtime.run_in_thread import run_in_thread
from replicator.runtime.store_errors import StoreUnreachable

log = logging.getLogger(__name__)

PAUSE_FACTOR = 4.0
"""After a measurement the watch pauses for at least this many times its duration. With 100 000
partitions the answers take seconds to parse, which blocks everything else in this process."""
NO_ANSWER = (Unreachable, Answered, KafkaError, OSError, TimeoutError)


class SourceWatch:
    """Periodic measurement of the traffic of a route's source.

    Args:
        history: where windows are kept over restarts; None: the history that the settings name.
    """

    def __init__(
        self, appliance: Appliance, route: Route, history: TrafficHistory | None = None
    ) -> None:
        settings = appliance.balance
        self._settings = settings
        self._name = ClusterName.regional(route.source)
        self._cluster = Cluster(
            self._name,
            appliance.source_of(route),
            client_id=f"sluice-balance-{route.target}",
            request_timeout_ms=appliance.replicator.request_timeout_ms,
            idle_seconds=appliance.replicator.connections_idle_seconds,
        )
        self._sampler = LogSampler(self._cluster)
        self._history = history or chosen_history(appliance, route)
        self._look_back = LookBack()
        self._partitions: frozenset[TopicPartition] = frozenset()
        self._last: LogSnapshot | None = None
        self._densities: Densities = {}
        self._measured_at_ms: int | None = None
        self._is_first = self._is_open = False
        self.is_loaded = False
        """True once the history was read, or could not be. Rates are not valid before."""
        self._troubles: dict[str, str] = {}
        self._has_partitions = asyncio.Event()

    def set_partitions(self, partitions: Collection[TopicPartition]) -> None:
        """Sets the partitions to measure."""
        if partitions != self._partitions:
            self._partitions = frozenset(partitions)
            self._has_partitions.set()

    def rates(self, now_ms: int) -> Mapping[TopicPartition, Rate]:
        """Returns the expected rates of all partitions that were ever measured."""
        return self._look_back.rates(now_ms)

    def fresh(self, now_ms: int) -> Set[TopicPartition]:
        """Returns the partitions that were measured lately."""
        return self._look_back.fresh(now_ms, round(self._settings.fresh_seconds * 1000))

    def degraded(self, now_ms: int) -> str | None:
        """Returns the reason why no rate can be believed; None if rates can be."""
        if self._measured_at_ms is None:
            trouble = self._troubles.get("look")
            return f"{self._name}: " + (trouble or "its traffic has not been measured yet")
        seconds = (now_ms - self._measured_at_ms) / 1000
        if seconds <= self._settings.held_seconds:
            return None
        trouble = self._troubles.get("look", "")
        return f"{self._name}: its traffic was last measured {seconds:.0f} s ago: {trouble}"

    def has_first_look(self) -> bool:
        """Returns True if traffic was measured for the first time since the last call."""
        found, self._is_first = self._is_first, False
        return found

    async def load(self) -> None:
        """Reads the windows of earlier processes from the history."""
        now_ms = time.time_ns() // 1_000_000
        try:
            await run_in_thread(self._read, now_ms)
        except StoreUnreachable as error:
            self._report("history", str(error))
        self.is_loaded = True

    async def run(self) -> None:
        """Measures until canceled."""
        await self.load()
        await self._has_partitions.wait()
        while True:
            began = time.monotonic()
            try:
                found = await self._measure()
                self._report("look", "")
            except NO_ANSWER as error:
                found = {}
                self._report("look", error_text(error))
            took = time.monotonic() - began
            await self._write(found)
            await asyncio.sleep(max(self._settings.sample_seconds - took, PAUSE_FACTOR * took))

    async def close(self) -> None:
        """Closes the connections to the source and to the history."""
        try:
            await self._cluster.close()
        finally:
            self._history.close()

    def _read(self, now_ms: int) -> None:
        # Sums first: the more exact windows of the last hour come last.
        for sums in self._history.coarse(now_ms - COARSE_SECONDS * 1000, now_ms):
            self._look_back.add_coarse(sums)
            self._measured_at_ms = int(sums.ends_ms.max())
        for windows_of_look in self._history.fine(now_ms - FINE_SECONDS * 1000, now_ms):
            self._look_back.add(windows_of_look)
            self._measured_at_ms = int(windows_of_look.ends_ms.max())

    async def _measure(self) -> Mapping[TopicPartition, Window]:
        if not self._is_open:
            await self._cluster.open()
            self._is_open = True
        snapshot = await self._sampler.sample(self._partitions)
        before, self._last = self._last, snapshot
        if before is None:
            return {}
        self._densities = densities(before, snapshot, self._densities)
        found = windows(before, snapshot, self._densities)
        if not found:
            return {}
        self._is_first = self._is_first or self._measured_at_ms is None
        self._measured_at_ms = snapshot.at_ms
        self._look_back.add(found)
        self._look_back.keep(self._partitions, snapshot.at_ms)
        return found

    async def _write(self, found: Mapping[TopicPartition, Window]) -> None:
        if not found:
            return
        try:
            await run_in_thread(self._history.write, found)
            self._report("history", "")
        except StoreUnreachable as error:
            self._report("history", str(error))

    def _report(self, about: str, trouble: str) -> None:
        """Logs a problem once when it begins, and once when it is over."""
        before = self._troubles.get(about, "")
        self._troubles[about] = trouble
        if trouble and not before:
            log.warning("event=traffic-unseen source=%r %s: %s", self._name, about, trouble)
        elif before and not trouble:
            log.info("event=traffic-seen source=%r %s", self._name, about)

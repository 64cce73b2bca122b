"""Cluster logs: the logs of an upsert table's topics in one cluster, looked at again and again.

A cluster that does not answer keeps no other from being cut: its lanes take nothing meanwhile.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from aggregator.upsert.tick import Lane
from aggregator.upsert.tick_cut import LaneLog
from balancer.topic_partition import TopicPartition
from replicator.config.cluster_name import ClusterName
from replicator.config.names import OWN_PREFIX
from replicator.kafka.admin.admin import Admin
from replicator.kafka.admin.admin_error import AdminError
from replicator.kafka.admin.topic import Topic
from replicator.runtime.backoff import Backoff
from replicator.runtime.report_once import ReportOnce
from replicator.runtime.run_in_thread import run_in_thread

log = logging.getLogger(__name__)

PAUSE_SECONDS = (0.5, 10.0)
"""Pauses before a cluster that did not answer is asked again."""


@dataclass(eq=False)
class ClusterLogs:
    """Logs of the topics of an upsert table in one cluster.

    Args:
        takes: returns True for a topic of the table.
        look_seconds: pause between two looks at the log ends.
        refresh_seconds: pause between two looks at the topics and the log starts.
        changed: set when a look shows something new.
    """

    name: ClusterName
    admin: Admin
    takes: Callable[[str], bool]
    look_seconds: float
    refresh_seconds: float
    changed: asyncio.Event
    trouble: str = field(init=False, default="not asked yet")
    """Reason why nothing is known of the cluster now; empty if something is."""
    logs: Mapping[Lane, LaneLog | None] = field(init=False, default_factory=dict)
    """Logs by lane, as the last look showed them; None for a partition without a leader."""
    _topics: Sequence[Topic] = field(init=False, default=())
    _starts: Mapping[TopicPartition, int] = field(init=False, default_factory=dict)
    _refresh_at: float = field(init=False, default=0.0)
    _reports: ReportOnce = field(init=False, default_factory=ReportOnce)

    @property
    def is_answering(self) -> bool:
        """True if `logs` has all partitions of the table in the cluster."""
        return not self.trouble

    async def watch(self) -> None:
        """Looks at the logs until cancelled."""
        backoff = Backoff(*PAUSE_SECONDS)
        while True:
            try:
                found = await run_in_thread(self._look)
            except (AdminError, OSError) as error:
                self._tell(str(error))
                await asyncio.sleep(backoff.jittered(0.8, 1.2))
                backoff.grow()
                continue
            backoff.reset()
            is_news = self.trouble or found != self.logs
            self.trouble, self.logs = "", found
            self._reports.settle(self.name)
            if is_news:
                self.changed.set()
            await asyncio.sleep(self.look_seconds)

    def _look(self) -> dict[Lane, LaneLog | None]:
        """Returns the logs as they are now. Blocking."""
        if time.monotonic() >= self._refresh_at:
            topics = [topic for topic in self.admin.topics() if self._is_own(topic)]
            self._starts = self.admin.offsets(places_of(topics), "earliest")
            self._topics = topics
            self._refresh_at = time.monotonic() + self.refresh_seconds
        ends = self.admin.offsets(places_of(self._topics), "latest")
        return {
            Lane(str(self.name), topic.name, topic.topic_id, number): _log(
                self._starts.get(TopicPartition(topic.name, number)),
                ends.get(TopicPartition(topic.name, number)),
            )
            for topic in self._topics
            for number in range(topic.partitions)
        }

    def _is_own(self, topic: Topic) -> bool:
        is_ours = topic.name.startswith((OWN_PREFIX, "__")) or topic.is_internal
        return not is_ours and topic.is_readable and self.takes(topic.name)

    def _tell(self, why: str) -> None:
        self.trouble = why
        if self._reports.is_news(self.name, why):
            log.error("event=topics-unknown cluster=%s: %s", self.name.replace(" ", "-"), why)


def places_of(topics: Sequence[Topic]) -> list[TopicPartition]:
    """Returns all partitions of topics."""
    return [
        TopicPartition(topic.name, number) for topic in topics for number in range(topic.partitions)
    ]


def _log(start: int | None, end: int | None) -> LaneLog | None:
    """Returns a log; None while one of its offsets is not known."""
    return None if start is None or end is None else LaneLog(start, end)

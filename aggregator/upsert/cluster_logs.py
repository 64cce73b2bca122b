"""Cluster logs: the logs of an upsert table's topics in one cluster, looked at again and again.

A cluster that does not answer keeps no other from being cut: its lanes take nothing meanwhile.

Each look tells the leader epochs together with the ends. While a partition's leader stays, its log
only grows; a newer leader is asked once how far it has the log of the one before (KIP-320).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from aggregator.upsert.tick import Lane, Tick
from aggregator.upsert.tick_cut import LaneLog
from balancer.topic_partition import TopicPartition
from replicator.config.cluster_name import ClusterName
from replicator.config.names import OWN_PREFIX
from replicator.kafka.admin.admin import Admin
from replicator.kafka.admin.admin_connection import LogOffset
from replicator.kafka.admin.admin_error import AdminError
from replicator.kafka.admin.topic import Topic
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Answered, Cluster, Forbidden
from replicator.kafka.client.epoch_regress import EpochRegress
from replicator.kafka.client.loss import Loss, LossKind
from replicator.runtime.backoff import Backoff
from replicator.runtime.clock import monotonic
from replicator.runtime.gather import gather_or_cancel
from replicator.runtime.report_once import ReportOnce
from replicator.runtime.run_in_thread import run_in_thread

log = logging.getLogger(__name__)

PAUSE_SECONDS = (0.5, 10.0)
"""Pauses before a cluster that did not answer is asked again."""
LEADER_SECONDS = 5.0
"""Longest wait for what a new leader says of its log; until then its lane takes nothing."""
SILENT_SECONDS = 10.0
"""Pause before a new leader that has said nothing is asked again: ticks wait for it each time."""
_ELSEWHERE = (LossKind.RETENTION_PASSED, LossKind.SOURCE_WENT_BACK)
"""Losses behind which a lane does not go on in the log of the epoch that its tick names."""


@dataclass(slots=True)
class _OlderLane:
    """Lane whose leader is older than the one that told its end (see CheckedPartition)."""

    partition: TopicPartition
    topic_id: UUID | None
    position: int
    batch_epoch: int
    leader_epoch: int = -1
    sealed_end: int = 0
    loss_to_park: Loss | None = None


@dataclass(eq=False)
class ClusterLogs:
    """Logs of the topics of an upsert table in one cluster.

    Args:
        cluster: asked by `behind`, on the event loop.
        epoch_regress: of the cluster; tells when older leader epochs are to be believed.
        takes: returns True for a topic of the table.
        look_seconds: pause between two looks at the log ends.
        refresh_seconds: pause between two looks at the topics and the log starts.
        changed: set when a look shows something new.
        clock: monotonic, in seconds.
    """

    name: ClusterName
    admin: Admin
    cluster: Cluster
    epoch_regress: EpochRegress
    takes: Callable[[str], bool]
    look_seconds: float
    refresh_seconds: float
    changed: asyncio.Event
    clock: Callable[[], float] = monotonic
    trouble: str = field(init=False, default="not asked yet")
    """Reason why nothing is known of the cluster now; empty if something is."""
    logs: Mapping[Lane, LaneLog | None] = field(init=False, default_factory=dict)
    """Logs by lane, as the last look showed them; None for a partition without a leader."""
    _topics: Sequence[Topic] = field(init=False, default=())
    _starts: Mapping[TopicPartition, int] = field(init=False, default_factory=dict)
    _refresh_at: float = field(init=False, default=0.0)
    _reports: ReportOnce = field(init=False, default_factory=ReportOnce)
    _compared: dict[Lane, tuple[int, int, int]] = field(init=False, default_factory=dict)
    """Answers of new leaders: the epoch that was asked about, that of the leader, and the end."""
    _silent: dict[Lane, tuple[int, float]] = field(init=False, default_factory=dict)
    """Epochs of leaders that have said nothing, and when each is asked again."""
    _older: dict[Lane, _OlderLane] = field(init=False, default_factory=dict)

    @property
    def is_answering(self) -> bool:
        """True if `logs` has all partitions of the table in the cluster."""
        return not self.trouble

    async def watch(self) -> None:
        """Looks at the logs until cancelled."""
        backoff = Backoff(*PAUSE_SECONDS)
        while True:
            try:
                found = await run_in_thread(self.look)
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

    async def behind(self, tick: Tick) -> dict[Lane, LaneLog | None]:
        """Returns the logs as the tick behind this one may take from them: each with the end of the
        epoch that the tick names for its lane, if another leader leads by now.

        It is None for a lane whose leader does not tell. Raises Forbidden.
        """
        logs = dict(self.logs)
        stopped = {each.lane: each.loss.kind for each in tick.stops}
        asked = {}
        for number, lane in enumerate(tick.lanes):
            log, epoch = logs.get(lane), tick.epoch(number)
            is_same = log is None or -1 in (epoch, log.epoch) or epoch == log.epoch
            if log is not None and not is_same and stopped.get(number) not in _ELSEWHERE:
                asked[lane] = self._compare(lane, log, epoch, tick.ends[number])
        found = await gather_or_cancel(*asked.values())
        return logs | dict(zip(asked, found, strict=True))

    async def _compare(self, lane: Lane, log: LaneLog, epoch: int, end: int) -> LaneLog | None:
        """Returns a log with what its leader says of an older epoch; None if it does not tell."""
        known = self._compared.get(lane)
        if known is not None and known[:2] == (epoch, log.epoch):
            return log._replace(epoch_end=known[2])
        silent, again_at = self._silent.get(lane, (-1, 0.0))
        if silent == log.epoch and self.clock() < again_at:
            return None
        self.cluster.watch({lane.topic})
        try:
            async with asyncio.timeout(LEADER_SECONDS):
                if log.epoch < epoch:
                    return await self._older_log(lane, log, epoch, end)
                place = lane.topic, lane.partition
                found = await self.cluster.epoch_end(*place, epoch, of_leader=log.epoch)
                if found < end:
                    # It was asked by name: another topic may have it by now.
                    await self.cluster.refresh()
        except Forbidden:
            raise
        except (Answered, Unreachable):
            return None
        except TimeoutError:
            self._silent[lane] = log.epoch, self.clock() + SILENT_SECONDS
            return None
        topic = self.cluster.topic(lane.topic)
        if topic is None or topic.id != lane.topic_id:
            return None
        self._compared[lane] = epoch, log.epoch, found
        return log._replace(epoch_end=found)

    async def _older_log(self, lane: Lane, log: LaneLog, epoch: int, end: int) -> LaneLog | None:
        """Returns a log whose leaders have gone back to an older epoch, with the loss, once all
        brokers say so; None until then."""
        older = self._older.get(lane)
        if older is None or (older.batch_epoch, older.position) != (epoch, end):
            place = TopicPartition(lane.topic, lane.partition)
            older = self._older[lane] = _OlderLane(place, lane.topic_id, end, epoch)
        if older.loss_to_park is None:
            await self.cluster.try_refresh()
            await self.epoch_regress.must_wait(older)
        return log._replace(went_back=older.loss_to_park) if older.loss_to_park else None

    def look(self) -> dict[Lane, LaneLog | None]:
        """Returns the logs as they are now. Blocking."""
        if time.monotonic() >= self._refresh_at:
            topics = [topic for topic in self.admin.topics() if self._is_own(topic)]
            self._starts = self.admin.offsets(places_of(topics), "earliest")
            self._topics = topics
            self._refresh_at = time.monotonic() + self.refresh_seconds
        ends = self.admin.ends(places_of(self._topics))
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


async def logs_behind(
    clusters: Iterable[ClusterLogs], tick: Tick
) -> dict[str, Mapping[Lane, LaneLog | None]]:
    """Returns the logs of those clusters that answer, by name, as the tick behind this one may take
    from them. Raises Forbidden."""
    answering = [each for each in clusters if each.is_answering]
    found = await gather_or_cancel(*(each.behind(tick) for each in answering))
    return {str(each.name): logs for each, logs in zip(answering, found, strict=True)}


def places_of(topics: Sequence[Topic]) -> list[TopicPartition]:
    """Returns all partitions of topics."""
    return [
        TopicPartition(topic.name, number) for topic in topics for number in range(topic.partitions)
    ]


def _log(start: int | None, end: LogOffset | None) -> LaneLog | None:
    """Returns a log; None while one of its offsets is not known."""
    return None if start is None or end is None else LaneLog(start, end.offset, end.leader_epoch)

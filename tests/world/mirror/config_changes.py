"""Configs of a mirrored topic, as operators change them at two sources and at the target.

The second source has the topic, and no records: what it wants for the target counts all the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from math import inf

from balancer.topic_partition import TopicPartition
from replicator.kafka.admin.admin_error import AdminUnreachable
from replicator.kafka.admin.topic import policies
from replicator.mirror.topics.followed_configs import WrittenConfigs
from replicator.mirror.topics.topic_configs import NO_LIMIT_MS, UNJUDGED
from replicator.mirror.topics.written_log import WrittenLog
from tests.world.kafka.kafka_cluster import KafkaCluster, Topic
from tests.world.kafka.log_batch import Batch
from tests.world.kafka.partition import NOBODY, Partition
from tests.world.kafka.topic_configs import alter, delete_old, in_effect
from tests.world.process import CURRENT

WAITING = ("cleanup.policy", "max.message.bytes", "retention.ms")
"""Configs of which a lower value waits for records."""
NAMES = (
    *WAITING,
    "max.compaction.lag.ms",
    "message.timestamp.before.max.ms",
    "min.compaction.lag.ms",
    "segment.ms",
)
"""Configs that operators change."""
RETENTION_SECONDS = 0.5
"""Interval of log.retention.check.interval.ms."""

Known = Mapping[TopicPartition, int]
"""Offsets behind what is carried for certain, by partition."""


class KeptConfigs:
    """Records of written configs as the target keeps them, whichever driver lives."""

    def __init__(self) -> None:
        self.records: dict[str, WrittenConfigs] = {}
        self.at_write: Callable[[], object] | None = None
        """Called once, when records are kept."""


class KeptLog(WrittenLog):
    """Log of one driver, which reads what is kept once, as the product's does."""

    def __init__(self, kept: KeptConfigs) -> None:
        super().__init__()
        self._kept, self._is_read = kept, False

    def read(self) -> Mapping[str, WrittenConfigs]:
        _live()
        if not self._is_read:
            self._records, self._is_read = dict(self._kept.records), True
        return super().read()

    def write(self, records: Mapping[str, WrittenConfigs]) -> None:
        _live()
        self._kept.records |= records
        super().write(records)
        act, self._kept.at_write = self._kept.at_write, None
        if act:
            act()


def _live() -> None:
    asking = CURRENT.get()
    if asking is not None and asking.is_dead:
        raise AdminUnreachable("target", "no answer")


class ConfigChanges:
    """Changes of one topic's configs.

    Args:
        source: has the records.
        other: second source of the target.
    """

    def __init__(
        self, topic: str, source: KafkaCluster, other: KafkaCluster, target: KafkaCluster
    ) -> None:
        self.topic, self.source, self.other, self.target = topic, source, other, target
        self.sources = (source, other)
        self.kept = KeptConfigs()
        self.by_hand: dict[str, str] = {}
        """Values that operators have set on the target."""
        self.ends: dict[str, Known] = {}
        """Ends of the source's partitions when the wanted value of a config changed last."""
        self.to_come: list[str] = []
        """Kinds of changes that are still to come before one comes again."""
        self.is_changing = False
        """True while an operator changes a config; else a driver does."""
        other.create(topic, len(source.topics[topic].partitions))
        for cluster in (*self.sources, target):
            cluster.topics[topic].own = {}

    def set(self, clusters: tuple[KafkaCluster, ...], changes: Mapping[str, str | None]) -> None:
        """Changes configs on the topic of some clusters; None deletes one."""
        before = {name: self.wanted(name) for name in NAMES}
        self.is_changing = True
        for cluster in clusters:
            alter(cluster, self.topic, changes)
        self.is_changing = False
        if self.target in clusters:
            for name, value in changes.items():
                self.by_hand.pop(name, None)
                if value is not None:
                    self.by_hand[name] = value
        for name in NAMES:
            if self.wanted(name) != before[name]:
                self.ends[name] = {
                    TopicPartition(self.topic, it.number): _stable_end(it)
                    for it in self.source.topics[self.topic].partitions
                }

    def value(self, cluster: KafkaCluster, name: str) -> str:
        """Returns the value in effect at a cluster."""
        return in_effect(self._own(cluster))[name]

    def wanted(self, name: str) -> str:
        """Returns the value that both sources together ask for."""
        values = [self.value(each, name) for each in self.sources]
        each = [policies(self.value(it, "cleanup.policy")) for it in self.sources]
        common = frozenset.intersection(*each)
        if name == "cleanup.policy":
            return ",".join(sorted(common)) or ("delete" if all(each) else "")
        if name == "retention.ms" and all(each) and not common:
            return "-1"
        return NO_LIMIT_MS if name in UNJUDGED else max(values, key=size)

    def unlike(self) -> list[str]:
        """Returns a text for each config of the target that is not what sources and operators
        want."""
        found = []
        for name in NAMES:
            here, wanted = self.value(self.target, name), self.by_hand.get(name, self.wanted(name))
            # Records of before may have needed more.
            is_raised = name == "max.message.bytes" and size(here) > size(wanted)
            if here != wanted and not is_raised:
                found.append(f"{name} is {here} on the target, and wanted is {wanted}")
        return found

    async def keep_deleting(self, carried: Callable[[], tuple[Known, Known]]) -> None:
        """Deletes what retention allows, at source and target.

        Args:
            carried: returns the offsets of both ends behind what is carried for certain: what lies
                behind them is taken for the last segment.
        """
        while True:
            await asyncio.sleep(RETENTION_SECONDS)
            for cluster, known in zip((self.source, self.target), carried(), strict=True):
                topic = cluster.topics[self.topic]
                for partition in topic.partitions:
                    end = known.get(TopicPartition(self.topic, partition.number), 0)
                    delete_old(partition, self._own(cluster), end)

    def _own(self, cluster: KafkaCluster) -> Mapping[str, str]:
        own = self._topic(cluster).own
        assert own is not None
        return own

    def _topic(self, cluster: KafkaCluster) -> Topic:
        return cluster.topics[self.topic]


def visible(partition: Partition) -> list[Batch]:
    """Returns the batches that a consumer of the partition finds."""
    return list(partition.logs[partition.decided.leader].batches)


def size(value: str) -> float:
    """Returns a number for comparisons; -1 is without limit."""
    return inf if value == "-1" else float(value)


def keeps_less(name: str, before: str, value: str) -> bool:
    """Returns True if a topic keeps or takes less with a value than with the one before."""
    if name == "cleanup.policy":
        return bool(policies(value) - policies(before))
    return size(value) < size(before)


def _stable_end(partition: Partition) -> int:
    leader = partition.decided.leader
    return 0 if leader == NOBODY else partition.logs[leader].stable_offset

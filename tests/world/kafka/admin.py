"""Admin client of a world: answers from the state of its cluster, without bytes on the network.

It stands in for librdkafka's client, which has sockets and threads of its own. It knows what the
controller knows, and fails while no broker is both reached by clients and connected to the others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Literal

from balancer.topic_partition import TopicPartition
from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Appliance
from replicator.config.topology import KafkaCluster as Settings
from replicator.kafka.admin.admin import Admin, Outcome, describe
from replicator.kafka.admin.admin_connection import LogOffset
from replicator.kafka.admin.admin_error import AdminUnreachable, Refused
from replicator.kafka.admin.topic import Configs, Topic
from replicator.kafka.admin.topic_changes import Action, Alter, Create
from replicator.mirror.topics.topic_sync import Ends
from tests.world.kafka import kafka_cluster
from tests.world.kafka.kafka_cluster import KafkaCluster
from tests.world.kafka.log_batch import Refused as BrokerRefused
from tests.world.kafka.partition import Partition
from tests.world.kafka.topic_configs import alter, described
from tests.world.process import CURRENT
from tests.world.world import World

DEFAULTS = {
    "cleanup.policy": "delete",
    "compression.type": "producer",
    "message.timestamp.type": "CreateTime",
}


class WorldAdmin(Admin):
    """Admin client of one cluster."""

    def __init__(self, name: str, settings: Settings, world_cluster: KafkaCluster) -> None:
        super().__init__(name, settings)
        self._world = world_cluster

    def cluster_id(self) -> str:
        self._reach("describing the cluster")
        return self._world.name

    def topics(self, names: Iterable[str] | None = None) -> list[Topic]:
        self._reach("describing topics")
        known = self._world.topics
        wanted = sorted(known if names is None else set(names) & known.keys())
        return [_described(known[name]) for name in wanted]

    def apply(self, actions: Sequence[Action]) -> list[Outcome]:
        self._reach("changing topics")
        return [Outcome(action, self._apply(action)) for action in actions]

    def offsets(
        self, partitions: Collection[tuple[str, int]], which: Literal["earliest", "latest"] | int
    ) -> dict[TopicPartition, int]:
        self._reach("asking for offsets")
        found = {}
        for topic, number in partitions:
            partition = self._world.partition(topic, number)
            offset = None if partition is None else self._offset(partition, which)
            if offset is not None:
                found[TopicPartition(topic, number)] = offset
        return found

    def ends(self, partitions: Collection[tuple[str, int]]) -> dict[TopicPartition, LogOffset]:
        found = self.offsets(partitions, "latest")
        return {
            place: LogOffset(offset, partition.decided.epoch)
            for place, offset in found.items()
            if (partition := self._world.partition(*place)) is not None
        }

    def _offset(
        self, partition: Partition, which: Literal["earliest", "latest"] | int
    ) -> int | None:
        leader = partition.decided.leader
        if not self._is_reached(leader):
            return None
        if isinstance(which, int):
            raise NotImplementedError("offsets by time: nobody asks the world for them")
        if which == "earliest":
            return partition.logs[leader].start
        try:
            return partition.latest(leader, read_committed=True)
        except BrokerRefused:
            return None

    def _apply(self, action: Action) -> Refused | None:
        if isinstance(action, Alter) and self._world.topics[action.topic].own is not None:
            answer = alter(self._world, action.topic, dict(action.configs))
            return Refused(self.name, answer, answer) if answer else None
        if not isinstance(action, Create):
            return Refused(self.name, f"{describe(action)}: the world does not do that")
        if action.topic not in self._world.topics:
            self._world.create(
                action.topic,
                action.partitions,
                min_in_sync=min(2, len(self._world.brokers)),
                is_compacted=dict(action.configs).get("cleanup.policy") == "compact",
            )
        return None

    def _reach(self, doing: str) -> None:
        """Raises AdminUnreachable while no broker answers, and for a process that is dead."""
        asking = CURRENT.get()
        is_dead = asking is not None and asking.is_dead
        if is_dead or not any(map(self._is_reached, self._world.brokers)):
            raise AdminUnreachable(self.name, f"{doing}: no answer")

    def _is_reached(self, node: int) -> bool:
        broker = self._world.brokers.get(node)
        return (
            broker is not None
            and self._world.is_connected(node)
            and not self._world.network.is_silent(broker.address)
        )


def _described(topic: kafka_cluster.Topic) -> Topic:
    first = topic.partitions[0]
    values = {
        **DEFAULTS,
        "max.message.bytes": str(first.max_message_bytes),
        "min.insync.replicas": str(first.min_in_sync),
    }
    if first.is_compacted:
        values["cleanup.policy"] = "compact"
    if first.stamps_append_time:
        values["message.timestamp.type"] = "LogAppendTime"
    changed = frozenset({"cleanup.policy"} if first.is_compacted else ())
    configs = Configs(values, changed) if topic.own is None else described(topic.own)
    return Topic(topic.name, topic.id, len(topic.partitions), configs, topic.name.startswith("__"))


def ends_of(world: World, appliance: Appliance, region: str) -> Ends:
    """Returns the admin clients for all routes into a region; its clusters are found by address."""

    def admin(name: ClusterName, settings: Settings) -> WorldAdmin:
        host = settings.bootstrap[0].rpartition(":")[0]
        return WorldAdmin(name, settings, world.clusters[host])

    routes = appliance.routes_into(region)
    sources = {
        route.source: admin(ClusterName.regional(route.source), appliance.source_of(route))
        for route in routes
    }
    target = admin(ClusterName.aggregate(region), appliance.region(region).aggregate)
    return Ends(target, sources, routes)

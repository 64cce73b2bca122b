"""Cluster of a world: brokers, topics, and the controller that elects leaders.

Replication, elections and the spreading of metadata take virtual time, by the world's dice. Source:
org.apache.kafka.controller.ReplicationControlManager, kafka.server.ReplicaManager.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID
from zlib import crc32

from tests.world.kafka.broker import Broker, Handler
from tests.world.kafka.log_losses import LostRange
from tests.world.kafka.partition import NOBODY, NOT_TOLD, Partition
from tests.world.network import Network

GROUPS, TRANSACTIONS = "__consumer_offsets", "__transaction_state"
INTERNAL_PARTITIONS = 4
FIRST_PORT = 9092
LOAD_SECONDS = (0.001, 0.2)


@dataclass(slots=True)
class Topic:
    """Topic of a cluster."""

    name: str
    id: UUID
    partitions: list[Partition]
    config: Mapping[str, Any] = field(default_factory=dict)
    own: Mapping[str, str] | None = None
    """Configs that are set on the topic (topic_configs.py); None: no history changes them."""


class KafkaCluster:
    """Cluster with its brokers.

    Args:
        name: of the cluster; its host name on the network.
        dice: decides all times and elections.
        handlers: of the brokers, by API key.
        session_seconds: time after which the controller takes a silent broker for dead.
        producer_expiry_seconds: producer.id.expiration.ms, by the time of a producer's records.
    """

    def __init__(
        self,
        name: str,
        network: Network,
        dice: random.Random,
        handlers: Mapping[int, Handler],
        *,
        brokers: int = 3,
        session_seconds: float = 9.0,
        producer_expiry_seconds: float = 24 * 3600.0,
    ) -> None:
        self.name = self.host = name
        self.network, self.dice = network, dice
        self.session_seconds = session_seconds
        self.producer_expiry_seconds = producer_expiry_seconds
        self.topics: dict[str, Topic] = {}
        self.next_producer_id = 1
        self.brokers = {
            node: Broker(self, node, FIRST_PORT + node, dict(handlers))
            for node in range(1, brokers + 1)
        }
        self.alive: set[int] = set()
        """Brokers that the controller takes for alive."""
        self.stalled: set[int] = set()
        """Brokers whose replicas do not follow; clients and controller see them alive."""
        self.lost: list[LostRange] = []
        """Losses in the logs of this cluster, in order."""
        self.forgotten_ids: set[str] = set()
        """Transactional ids that have expired at least once."""
        self.expired_commits: set[tuple[str, int]] = set()
        """Partitions of which a committed offset has expired."""
        self.restored_commits: set[tuple[str, int]] = set()
        """Partitions of which a committed offset has turned back."""
        self.load_seconds = LOAD_SECONDS
        """Time that a new coordinator needs to load a partition, at least and at most."""
        self._following: set[tuple[int, str, int]] = set()
        self.on_leader: list[Callable[[Broker, Partition], None]] = []
        """Called when a broker learns that it leads a partition."""
        self.on_loaded: list[Callable[[Broker, Partition], None]] = []
        """Called when a coordinator has loaded a partition of its."""
        self.on_deleted: list[Callable[[KafkaCluster, str], None]] = []
        """Called when a topic was deleted."""
        self.on_altered: list[
            Callable[[KafkaCluster, str, Mapping[str, str | None], str | None], None]
        ] = []
        """Called before configs of a topic change: changes by config, and why they are refused."""
        self.fetch_bytes_max = 1 << 30
        """Most bytes of a partition in an answer, but for a first batch that is larger."""
        self.left_out_share = 0.0
        """Share of the markers of groups that coordinators leave out, because the partition has no
        leader (KAFKA-20734)."""
        for node in self.brokers:
            self.start(node)

    def create_internal(self) -> None:
        """Creates the topics of the coordinators; before, `on_leader` has to be filled."""
        for topic in (GROUPS, TRANSACTIONS):
            for partition in self.create(
                topic, INTERNAL_PARTITIONS, min_in_sync=min(2, len(self.brokers))
            ).partitions:
                for act in self.on_leader:
                    act(self.brokers[partition.decided.leader], partition)

    @property
    def bootstrap(self) -> list[str]:
        return [f"{self.host}:{it.port}" for it in self.brokers.values()]

    def work_seconds(self) -> float:
        """Returns the time that a broker needs for a request."""
        return self.dice.uniform(0.00005, 0.0005)

    def delay_of_markers(self) -> float:
        """Returns the time until a marker is written, or tried again."""
        return self.dice.uniform(0.0005, 0.02)

    def reads_on(self, waiting: int) -> bool:
        """Returns whether a broker reads one more request of a client that has gone."""
        return waiting > 0 and self.dice.random() < 0.7

    def later(self, seconds: float, act: Callable[..., object], *args: Any) -> None:
        self.network.outside(self.network.loop.time() + seconds, act, *args)

    # -- topics

    def create(self, name: str, partitions: int, **config: Any) -> Topic:
        """Creates a topic, replicated on all brokers up to three."""
        nodes = sorted(self.brokers)
        topic_id = UUID(int=self.dice.getrandbits(128))
        copies = config.pop("replicas", min(3, len(nodes)))
        made = [
            Partition(
                name,
                topic_id,
                number,
                [nodes[(number + step) % len(nodes)] for step in range(copies)],
                **config,
            )
            for number in range(partitions)
        ]
        self.topics[name] = Topic(name, topic_id, made, config)
        for partition in made:
            if partition.decided.leader not in self.alive:
                self._elect(partition)
        return self.topics[name]

    def delete(self, name: str) -> None:
        topic = self.topics.pop(name)
        for partition in topic.partitions:
            partition.decide(NOBODY, [])
            for node in partition.replicas:
                partition.learn(node)

    def partition(self, topic: str | UUID, number: int) -> Partition | None:
        """Returns a partition by the topic's name or id; None if there is none."""
        found = (
            next((it for it in self.topics.values() if it.id == topic), None)
            if isinstance(topic, UUID)
            else self.topics.get(topic)
        )
        if found is None or not 0 <= number < len(found.partitions):
            return None
        return found.partitions[number]

    def knows(self, topic: str | UUID) -> bool:
        """Returns True for the name or id of a topic that there is."""
        return self.partition(topic, 0) is not None

    def log_start(self, place: tuple[str, int]) -> int:
        """Returns the lowest offset that retention has left in a partition."""
        partition = self.partition(*place)
        return max(log.start for log in partition.logs.values()) if partition else 0

    def forget_producers(self) -> None:
        """Forgets producers that have written nothing for too long (KIP-360).

        Source: ProducerStateManager.removeExpiredProducers, on each replica by its own clock.
        """
        before_ms = (time.time() - self.producer_expiry_seconds) * 1000
        for partition in self.partitions():
            for log in partition.logs.values():
                log.forget_producers(before_ms)

    async def keep_forgetting(self, every_seconds: float) -> None:
        """Forgets producers now and then (producer.id.expiration.check.interval.ms)."""
        while True:
            await asyncio.sleep(every_seconds)
            self.forget_producers()

    def partitions(self) -> Iterable[Partition]:
        return [it for topic in self.topics.values() for it in topic.partitions]

    def internal(self, topic: str, key: str) -> Partition:
        """Returns the partition of an internal topic that keeps a group or transactional id."""
        return self.topics[topic].partitions[crc32(key.encode()) % INTERNAL_PARTITIONS]

    # -- brokers

    def start(self, node: int) -> None:
        """Starts a broker: it reads snapshots of producers, or goes through its logs (LogLoader,
        UnifiedLog.rebuildProducerState)."""
        self._gone(node)  # a new registration ends the one before
        self.brokers[node].start()
        forget_before_ms = (time.time() - self.producer_expiry_seconds) * 1000
        reads_snapshots = self.dice.random() < 0.5
        for partition in self.partitions():
            if node in partition.replicas:
                partition.told[node] = NOT_TOLD
                log = partition.logs[node]
                noted = self.dice.choice([it.end for it in log.batches[-10:]] or [log.end])
                if reads_snapshots:
                    log.restart(forget_before_ms, noted)
        self._registered(node)

    def kill(self, node: int) -> None:
        """Ends a broker's process at once; the controller notices within the session's time."""
        broker = self.brokers[node]
        broker.kill()
        self._miss(node)

    def stop(self, node: int) -> None:
        """Stops a broker's process, as SIGSTOP does."""
        self.network.silence(self.brokers[node].address)
        self.brokers[node].is_isolated = True
        self._miss(node)

    def resume(self, node: int) -> None:
        """Lets a stopped broker go on: it first answers what waited, in its old belief."""
        broker = self.brokers[node]
        self.network.resume(broker.address)
        self.later(self.dice.uniform(0.0, 0.5), self.rejoin, node)

    def isolate(self, node: int) -> None:
        """Cuts a broker off from the others and the controller; clients still reach it."""
        self.brokers[node].is_isolated = True
        self._miss(node)

    def rejoin(self, node: int) -> None:
        self.brokers[node].is_isolated = False
        if self.brokers[node].is_up:
            self._registered(node)

    def mend(self) -> None:
        """Starts brokers that are down, and lets go on what is stopped or cut off."""
        for node, broker in self.brokers.items():
            if not broker.is_up:
                self.start(node)
            self.network.resume(broker.address)
            if broker.is_isolated:
                self.rejoin(node)

    def is_connected(self, node: int) -> bool:
        """Returns True while a broker runs and reaches the others."""
        broker = self.brokers.get(node)
        return broker is not None and broker.is_up and not broker.is_isolated

    def _miss(self, node: int) -> None:
        life = self.brokers[node].life

        def miss() -> None:
            if self.brokers[node].life == life and not self.is_connected(node):
                self._gone(node)

        self.later(self.dice.uniform(0.3, 1.0) * self.session_seconds, miss)

    def _gone(self, node: int) -> None:
        """Takes a broker for dead, as the controller does (handleBrokerFenced)."""
        if node in self.alive:
            self.alive.discard(node)
            for partition in self.partitions():
                self._lost(partition, node)

    def _registered(self, node: int) -> None:
        """Takes a broker for alive, as the controller does (handleBrokerUnfenced)."""
        self.alive.add(node)
        for partition in self.partitions():
            if node not in partition.replicas:
                continue
            if partition.decided.leader == NOBODY:
                self._elect(partition)
            else:
                self._tell(partition, [node])

    # -- elections

    def unlead(self, partition: Partition, seconds: float) -> None:
        """Leaves a partition without a leader for some time."""
        partition.decide(NOBODY, partition.decided.in_sync)
        self._tell(partition, partition.replicas)
        self.later(seconds, self._lead_again, partition)

    def _lead_again(self, partition: Partition) -> None:
        if partition.decided.leader == NOBODY:
            self._elect(partition)

    def elect(self, partition: Partition, leader: int) -> None:
        """Elects a replica: one in sync keeps everything; another one loses what it has not."""
        in_sync = partition.decided.in_sync
        kept = in_sync if leader in in_sync else frozenset({leader})
        partition.decide(leader, kept)
        self._tell(partition, partition.replicas)

    def elect_another(self, partition: Partition) -> None:
        """Elects another replica that is in sync, if there is one."""
        decided = partition.decided
        others = [it for it in sorted(decided.in_sync) if it != decided.leader]
        able = [it for it in others if self.is_connected(it)]
        if able:
            self.elect(partition, self.dice.choice(able))

    def _lost(self, partition: Partition, node: int) -> None:
        decided = partition.decided
        if node not in decided.in_sync and decided.leader != node:
            return
        left = decided.in_sync - {node}
        if decided.leader == node:
            self._elect(partition)
        elif left:
            partition.change_in_sync(left)
            self._tell(partition, [decided.leader])

    def _elect(self, partition: Partition) -> None:
        """Elects the first replica in sync that is alive (PartitionChangeBuilder.electLeader)."""
        candidates = [it for it in partition.replicas if it in partition.decided.in_sync]
        alive = [it for it in candidates if it in self.alive]
        if alive:
            partition.decide(alive[0], alive)
        else:
            # The last one in sync stays in the set: it alone has everything.
            partition.decide(NOBODY, partition.decided.in_sync)
        self._tell(partition, partition.replicas)

    def tell_at_once(self, partition: Partition) -> None:
        for node in partition.replicas:
            self._learn(partition, node)

    def _tell(self, partition: Partition, nodes: Iterable[int]) -> None:
        for node in nodes:
            self.later(self.dice.uniform(0.001, 0.05), self._learn, partition, node)

    def _learn(self, partition: Partition, node: int) -> None:
        if not self.is_connected(node):
            return
        before = partition.told[node]
        partition.learn(node)
        if partition.decided.leader == node and before.epoch != partition.decided.epoch:
            for act in self.on_leader:
                act(self.brokers[node], partition)
        self.replicate(partition)

    # -- replication

    def replicate(self, partition: Partition) -> None:
        """Lets every replica follow soon."""
        for node in partition.replicas:
            key = (node, partition.topic, partition.number)
            if key not in self._following:
                self._following.add(key)
                self.later(self.dice.uniform(0.0002, 0.004), self._follow, partition, node, key)

    def _follow(self, partition: Partition, node: int, key: tuple[int, str, int]) -> None:
        self._following.discard(key)
        leader = partition.told[node].leader
        if leader in (NOBODY, node) or node in self.stalled or not self.is_connected(node):
            return
        has_moved = partition.follow(node, self.is_connected(leader))
        decided = partition.decided
        if (
            decided.leader == leader
            and node not in decided.in_sync
            and node in self.alive
            and partition.caught_up(node)
            and self.is_connected(leader)
        ):
            partition.change_in_sync([*decided.in_sync, node])
            has_moved = True
        if has_moved:
            self.replicate(partition)

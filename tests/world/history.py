"""History of one seed: a route that mirrors while processes, brokers and connections fail.

At the end the faults are mended, and both ends have to be the same within a bound of virtual time.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from balancer.plan import TopicPartition
from replicator.mirror.carrier.assembly import MAKERS, Makers
from tests.replicator.batches.source_batches import decoded
from tests.world.kafka_cluster import KafkaCluster
from tests.world.mirroring import Mirroring
from tests.world.process import Process
from tests.world.source_load import Sender
from tests.world.virtual_loop import VirtualLoop, run
from tests.world.world import World

EXPIRATION_SECONDS = 24 * 3600.0
"""Kafka's default of producer.id.expiration.ms, counted from the time of a producer's records."""
QUIET_SECONDS = 180.0
"""Bound for the end: virtual time within which everything has to be carried without faults."""


class Wrong(AssertionError):
    """A history ended with a record lost, repeated or reordered, or did not end."""


@dataclass(slots=True)
class Course:
    """Course of a history.

    Args:
        seconds: virtual time with load and faults.
        fault_seconds: mean time between two faults.
    """

    partitions: int = 3
    carriers: int = 2
    brokers: int = 3
    seconds: float = 60.0
    fault_seconds: float = 2.0


@dataclass(slots=True)
class Outcome:
    """Result of a history."""

    seed: int
    records: int
    seconds: float
    steps: int
    requests: int
    log: list[str] = field(default_factory=list)


def committed_values(cluster: KafkaCluster, place: TopicPartition) -> list[bytes]:
    """Returns the values of a partition's records without those of aborted transactions."""
    partition = cluster.partition(*place)
    assert partition is not None
    batches = partition.logs[partition.decided.leader].batches
    ends: dict[int, bool] = {}
    kept = []
    for batch in reversed(batches):
        if batch.is_marker:
            ends[batch.producer_id] = bool(batch.is_commit)
        elif not batch.is_transactional or ends.get(batch.producer_id, False):
            kept.append(batch)
    return [record.value or b"" for batch in reversed(kept) for record in decoded(batch.data)]


class History:
    """History of one seed."""

    def __init__(
        self, loop: VirtualLoop, seed: int, course: Course, makers: Makers = MAKERS
    ) -> None:
        self.world = World(loop, seed)
        self.loop, self.seed, self.course, self.makers = loop, seed, course, makers
        self.dice = random.Random(seed)
        self.log: list[str] = []
        self.mirroring = Mirroring(
            self.world,
            ["orders"],
            course.partitions,
            course.brokers,
            ledger_seconds=1.0,
            request_timeout_ms=5000,
        )
        self.senders = [
            Sender(
                self.mirroring.source,
                place,
                random.Random(self.dice.random()),
                old_share=self.dice.choice([0.0, 0.0, 0.3]),
            )
            for place in self.mirroring.places
        ]
        self.is_loaded = True

    def tell(self, text: str) -> None:
        self.log.append(f"{self.loop.time():10.4f} {text}")

    async def run(self) -> Outcome:
        await self.mirroring.begin()
        await self._plan()
        load = [asyncio.create_task(self._send(sender)) for sender in self.senders]
        while self.loop.time() < self.course.seconds:
            await asyncio.sleep(self.dice.expovariate(1 / self.course.fault_seconds))
            await self._fault()
        self.is_loaded = False
        self._mend()
        await asyncio.gather(*load)
        await self._settle()
        await self.mirroring.close()
        records = sum(len(it.acknowledged) for it in self.senders)
        return Outcome(
            self.seed,
            records,
            self.loop.time(),
            self.loop.steps,
            self.world.network.requests,
            self.log,
        )

    async def _send(self, sender: Sender) -> None:
        dice = sender.dice
        while self.is_loaded:
            await sender.send(
                dice.randint(1, 8),
                is_transactional=dice.random() < 0.3,
                commits=dice.random() < 0.7,
            )
            await asyncio.sleep(dice.expovariate(3.0))

    # -- plans

    async def _plan(self) -> None:
        """Begins a new epoch: partitions are shared out anew."""
        await self.mirroring.plan()
        places = list(self.mirroring.places)
        self.dice.shuffle(places)
        count = self.course.carriers
        self.tell(f"plan {self.mirroring.plan_version}: {[p.partition for p in places]}")
        for number in range(count):
            self.mirroring.carrier(number, places[number::count], self.makers)

    # -- faults

    async def _fault(self) -> None:
        faults: list[tuple[int, Callable[[], Awaitable[None]]]] = [
            (4, self._kill_carrier),
            (3, self._stop_carrier),
            (3, self._cut),
            (3, self._kill_broker),
            (2, self._stop_broker),
            (2, self._isolate_broker),
            (2, self._prefer),
            (1, self._forget_producers),
            (2, self._plan),
        ]
        weights = [weight for weight, _ in faults]
        _, act = self.dice.choices(faults, weights)[0]
        await act()

    def _running(self) -> list[Process]:
        return [
            it
            for it in self.mirroring.carriers
            if not it.is_dead and not it.is_stopped and not it.has_ended
        ]

    async def _kill_carrier(self) -> None:
        running = self._running()
        if running:
            victim = self.dice.choice(running)
            self.tell(f"kill {victim.name}")
            victim.kill()
        await self._plan()

    async def _stop_carrier(self) -> None:
        running = self._running()
        if running:
            victim = self.dice.choice(running)
            seconds = self.dice.choice([0.5, 3.0, 20.0])
            self.tell(f"stop {victim.name} for {seconds} s")
            victim.stop()
            self.loop.call_later(seconds, victim.resume)
        if self.dice.random() < 0.7:
            await self._plan()

    def _cluster(self) -> KafkaCluster:
        return self.dice.choice([self.mirroring.source, self.mirroring.target])

    async def _cut(self) -> None:
        cluster = self._cluster()
        broker = self.dice.choice(list(cluster.brokers.values()))
        self.tell(f"cut connections of {cluster.name} {broker.node}")
        cluster.network.cut([broker.address])

    async def _kill_broker(self) -> None:
        cluster, node = self._victim()
        if node:
            self.tell(f"kill {cluster.name} {node}")
            cluster.kill(node)
            cluster.later(self.dice.uniform(0.5, 15.0), self._restart, cluster, node)

    def _restart(self, cluster: KafkaCluster, node: int) -> None:
        if not cluster.brokers[node].is_up:
            self.tell(f"start {cluster.name} {node}")
            cluster.start(node)

    async def _stop_broker(self) -> None:
        cluster, node = self._victim()
        if node:
            self.tell(f"stop {cluster.name} {node}")
            cluster.stop(node)
            cluster.later(self.dice.uniform(0.5, 15.0), cluster.resume, node)

    async def _isolate_broker(self) -> None:
        cluster, node = self._victim()
        if node:
            self.tell(f"isolate {cluster.name} {node}")
            cluster.isolate(node)
            cluster.later(self.dice.uniform(0.5, 15.0), cluster.rejoin, node)

    def _victim(self) -> tuple[KafkaCluster, int]:
        """Returns a broker whose loss leaves the cluster a majority; 0 for none."""
        cluster = self._cluster()
        well = [node for node in cluster.brokers if cluster.is_connected(node)]
        return cluster, self.dice.choice(well) if len(well) == len(cluster.brokers) else 0

    async def _prefer(self) -> None:
        cluster = self._cluster()
        self.tell(f"preferred election in {cluster.name}")
        for partition in cluster.partitions():
            preferred = partition.replicas[0]
            is_able = preferred in partition.decided.in_sync and cluster.is_connected(preferred)
            if is_able and partition.decided.leader != preferred:
                cluster.elect(partition, preferred)

    async def _forget_producers(self) -> None:
        self.tell("the target forgets idle producers")
        for place in self.mirroring.places:
            partition = self.mirroring.target.partition(*place)
            assert partition is not None
            for log in partition.logs.values():
                log.forget_producers((time.time() - EXPIRATION_SECONDS) * 1000)

    # -- the end

    def _mend(self) -> None:
        self.tell("all is mended")
        for cluster in (self.mirroring.source, self.mirroring.target):
            for node, broker in cluster.brokers.items():
                if not broker.is_up:
                    cluster.start(node)
                cluster.network.resume(broker.address)
                if broker.is_isolated:
                    cluster.rejoin(node)
        for carrier in self.mirroring.carriers:
            if carrier.is_stopped:
                carrier.resume()

    async def _settle(self) -> None:
        await self._plan()
        give_up_at = self.loop.time() + QUIET_SECONDS
        while True:
            differing = self._differing()
            if not differing:
                return
            if self.loop.time() > give_up_at:
                entries = await self.mirroring.entries()
                differing += [f"{place}: {it.parked}" for place, it in entries.items() if it.parked]
                raise Wrong(f"seed {self.seed}: " + "; ".join(differing))
            await asyncio.sleep(1.0)

    def _differing(self) -> list[str]:
        found = []
        for place in self.mirroring.places:
            sent = committed_values(self.mirroring.source, place)
            seen = committed_values(self.mirroring.target, place)
            if sent != seen:
                found.append(_difference(place, sent, seen))
        return found


def _difference(place: TopicPartition, sent: list[bytes], seen: list[bytes]) -> str:
    same = next((at for at, (a, b) in enumerate(zip(sent, seen, strict=False)) if a != b), None)
    twice = len(seen) - len(set(seen))
    missing = len(set(sent) - set(seen))
    return (
        f"{place.topic}-{place.partition}: {len(sent)} sent, {len(seen)} seen, {missing} missing, "
        f"{twice} twice, first difference at {same}"
    )


def play(seed: int, course: Course | None = None, makers: Makers = MAKERS) -> Outcome:
    """Plays the history of a seed; raises Wrong."""
    random.seed(seed)

    async def main(loop: VirtualLoop) -> Outcome:
        history = History(loop, seed, course or Course(), makers)
        try:
            return await history.run()
        except Wrong as wrong:
            raise Wrong("\n".join([str(wrong), *history.log])) from None

    found: Outcome = run(main)
    return found

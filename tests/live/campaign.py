"""Compound faults: a target broker and a carrier fail within 50 ms of each other, again and again.

Carriers are processes of their own, and the target has three brokers. Each round ends once the
ledger has passed everything that the source held when the faults began.
"""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Literal, get_args

from confluent_kafka import ElectionType, KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from deploy.lab.compare import RouteVerdict
from deploy.lab.dump import BOTH, compare_dumps, dump
from deploy.lab.kafka import KafkaCluster
from deploy.lab.process import Process
from deploy.lab.skewed_load import SkewedLoad
from deploy.lab.wait import until
from tests.live.both_ends import stable_ends
from tests.live.carrying import Carrying

BrokerFault = Literal["leader killed", "leader stopped", "preferred election"]
CarrierFault = Literal["carrier killed", "carrier stopped", "partition moved", "epoch ended"]
GAP_SECONDS_MAX = 0.05
STOP_SECONDS = (3.0, 12.0)
CARRIERS = 2
DAY_MS = 24 * 3600 * 1000
HEAL_SECONDS_MAX = 180.0
END_SECONDS_MAX = 60.0


@dataclass(frozen=True, slots=True)
class Round:
    """The faults of one round.

    Args:
        partition: whose leader is hit.
        carrier: the number of the carrier that is hit.
        gap_seconds: between the two faults; negative where the carrier's comes first.
        stop_seconds: how long a leader is stopped.
    """

    broker_fault: BrokerFault
    carrier_fault: CarrierFault
    partition: int
    carrier: int
    gap_seconds: float
    stop_seconds: float

    @property
    def name(self) -> str:
        return f"{self.broker_fault} + {self.carrier_fault}"


def rounds_of(seed: int, count: int, partitions: int) -> list[Round]:
    """The rounds of a campaign; every pair of faults comes equally often, in random order."""
    chance = random.Random(seed)
    pairs = [(b, c) for b in get_args(BrokerFault) for c in get_args(CarrierFault)]
    drawn: list[tuple[BrokerFault, CarrierFault]] = []
    while len(drawn) < count:
        drawn += chance.sample(pairs, len(pairs))
    return [
        Round(
            broker_fault=broker,
            carrier_fault=carrier,
            partition=chance.randrange(partitions),
            carrier=chance.randrange(CARRIERS),
            gap_seconds=chance.uniform(-GAP_SECONDS_MAX, GAP_SECONDS_MAX),
            stop_seconds=chance.uniform(*STOP_SECONDS),
        )
        for broker, carrier in drawn[:count]
    ]


def half_a_day_old(number: int) -> int:
    """The timestamp of record `number`: every second record is older than a day (0: now)."""
    return int(time.time() * 1000) - DAY_MS - 3_600_000 if number % 2 else 0


@dataclass(slots=True)
class Campaign:
    """Faults on one topic that is carried from one cluster into another.

    Args:
        carrying: one route from source to target; the topic is adopted.
        target: three brokers.
    """

    carrying: Carrying
    source: KafkaCluster
    target: KafkaCluster
    topic: str
    done: Counter[str] = field(default_factory=Counter)
    recovery_seconds: list[float] = field(default_factory=list)
    source_ends: list[dict[int, int]] = field(default_factory=list)
    """The source's ends behind each round: a difference is traced to its round by offset."""
    _admin: AdminClient = field(init=False)
    """Held here: a client that nothing holds ends before its answer comes."""
    _carriers: list[Process] = field(default_factory=list)
    _stopped: list[Process] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._admin = self.target.admin()

    def run(
        self, rounds: Sequence[Round], load: SkewedLoad, progress: Callable[[Round, float], None]
    ) -> None:
        """All rounds, and then no more load and everything carried; no carrier is left.

        Args:
            progress: called behind each round, with the seconds until it had recovered.
        """
        self._begin()
        with load:
            for each in rounds:
                began = time.monotonic()
                self._round(each)
                self.recovery_seconds.append(time.monotonic() - began)
                self.done[each.name] += 1
                progress(each, self.recovery_seconds[-1])
        self._until_carried("the last round")
        self.carrying.say_stop()
        self._until_ended([*self._carriers, *self._stopped])

    def verdicts(self) -> dict[str, RouteVerdict]:
        """Both ends compared, by isolation level of the reader."""
        sent = {"source": dump(self.source, self.topic)}
        return {
            isolation: compare_dumps(
                sent, dump(self.target, self.topic, isolation), self.topic
            ).total
            for isolation in BOTH
        }

    # -- one round

    def _round(self, each: Round) -> None:
        if each.broker_fault == "preferred election":
            self._depose_preferred(each.partition)
        leader = self._leader(each.partition)
        with ThreadPoolExecutor(2) as threads:
            acts = [
                (max(0.0, -each.gap_seconds), lambda: self._hit_broker(each, leader)),
                (max(0.0, each.gap_seconds), lambda: self._hit_carrier(each)),
            ]
            hit = [threads.submit(_after, delay, act) for delay, act in acts]
            hit[1].result()
            # Processes are started here: they end with the thread that started them.
            if each.carrier_fault != "partition moved":
                if each.carrier_fault == "epoch ended":
                    self._until_ended(self._carriers)
                self._begin()
            hit[0].result()
        if each.broker_fault == "leader killed":
            self.target.restart(leader)
        self.target.wait_ready(HEAL_SECONDS_MAX)
        if each.broker_fault == "preferred election":
            assert until(lambda: self._is_deposed(each.partition, leader), HEAL_SECONDS_MAX, 0.5)
        self._until_carried(each.name)
        for process in self._stopped:
            process.send(signal.SIGCONT)
        self._until_ended(self._stopped)
        self._stopped = []
        self._until_replicated()
        self.source_ends.append(self._source_ends())

    def _depose_preferred(self, partition: int) -> None:
        """Another replica leads than the preferred one, so that an election changes the leader."""
        topic = self._admin.list_topics(self.topic, timeout=30).topics[self.topic]
        preferred = topic.partitions[partition].replicas[0]
        if self._leader(partition) == preferred:
            self.target.restart(preferred)
            assert until(lambda: self._leader(partition) != preferred, HEAL_SECONDS_MAX)
            self.target.wait_ready(HEAL_SECONDS_MAX)
            self._until_replicated()

    def _hit_broker(self, each: Round, leader: int) -> None:
        if each.broker_fault == "leader killed":
            self.target.kill(leader)
        elif each.broker_fault == "leader stopped":
            self.target.pause(leader)
            time.sleep(each.stop_seconds)
            self.target.resume(leader)
        else:
            self._elect_preferred()

    def _elect_preferred(self) -> None:
        self._admin.elect_leaders(ElectionType.PREFERRED, None).result(30)

    def _hit_carrier(self, each: Round) -> None:
        if each.carrier_fault == "carrier killed":
            self._carriers[each.carrier].kill()
        elif each.carrier_fault == "carrier stopped":
            self._carriers[each.carrier].send(signal.SIGSTOP)
            self._stopped.append(self._carriers[each.carrier])
        elif each.carrier_fault == "partition moved":
            self.carrying.swap_carriers(CARRIERS)
        else:
            self.carrying.say_newer_plan()

    # -- carriers

    def _begin(self) -> None:
        """A new plan. Its carriers have the ids of those before, and fence them."""
        before = [each for each in self._carriers if each not in self._stopped]
        self._carriers = self.carrying.begin_processes(CARRIERS)
        self._until_ended(before)

    def _until_ended(self, processes: Sequence[Process]) -> None:
        def have_ended() -> bool:
            return not any(process.is_running() for process in processes)

        assert until(have_ended, END_SECONDS_MAX), [
            str(each.failure("goes on")) for each in processes if each.is_running()
        ]

    # -- what is waited for

    def _until_carried(self, what: str) -> None:
        """Until the ledger has passed what the source holds now."""
        ends = stable_ends(self.source, self.carrying.topics)

        def is_past() -> bool:
            if all(not process.is_running() for process in self._carriers):
                self._begin()  # the epoch's deadline has passed
            entries = self.carrying.entries()
            parked = {p: str(entry.parked) for p, entry in entries.items() if entry.parked}
            assert not parked, (what, parked)
            return all(entries[place].source_offset >= end for place, end in ends.items())

        assert until(is_past, HEAL_SECONDS_MAX, 0.1), (what, ends, self.carrying.entries())

    def _until_replicated(self) -> None:
        """Until every partition of the topic has a leader and its replicas are in sync."""

        def is_replicated() -> bool:
            try:
                found = self._admin.list_topics(self.topic, timeout=5).topics[self.topic]
            except KafkaException:
                return False
            return all(
                part.error is None and len(part.isrs) == len(part.replicas)
                for part in found.partitions.values()
            )

        assert until(is_replicated, HEAL_SECONDS_MAX, 0.2)

    def _leader(self, partition: int) -> int:
        found = -1

        def is_led() -> bool:
            nonlocal found
            topic = self._admin.list_topics(self.topic, timeout=30).topics[self.topic]
            if topic.error not in (None, KafkaError.NO_ERROR):
                return False
            found = topic.partitions[partition].leader
            return found in self.target.processes

        assert until(is_led, HEAL_SECONDS_MAX)
        return found

    def _is_deposed(self, partition: int, leader: int) -> bool:
        """Elects once more otherwise: a replica out of sync is not elected."""
        if self._leader(partition) != leader:
            return True
        self._elect_preferred()
        return False

    def _source_ends(self) -> dict[int, int]:
        ends = stable_ends(self.source, self.carrying.topics)
        return {place.partition: end for place, end in ends.items()}


def _after(seconds: float, act: Callable[[], None]) -> None:
    time.sleep(seconds)
    act()

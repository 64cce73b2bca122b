"""Latency from the source's acknowledgment of a record to its delivery by the target.

2 000 records a second are spread over all partitions. One process stamps both ends with one clock.
"""

from __future__ import annotations

import sys
import threading
import time
from array import array
from dataclasses import dataclass

import numpy as np
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

from bench.ground import PARTITIONS, Ground, delete_topics, log_end, make_topic, say
from bench.measure import START_SECONDS_MAX, NothingArrives, Tree, Window
from bench.mirror import Factory, Mirror, Order
from bench.sluice_run import Sluice
from deploy.lab.wait import until

RECORDS_PER_SECOND = 2000
TICK_SECONDS = 0.002
RECORD_BYTES = 200
STRAGGLER_SECONDS_MAX = 20.0
# Threads switch after 0.5 ms instead of the default 5 ms, which would count as latency.
SWITCH_SECONDS = 0.0005
TOPIC = "latency"


@dataclass(frozen=True, slots=True)
class Latency:
    """Latency in milliseconds, and the cost in the same window."""

    p50: float
    p99: float
    p999: float
    worst: float
    epoch_ends: int | None
    """Number of epochs that ended within the window; None for systems without epochs."""
    window: Window


def measured(
    ground: Ground, factory: Factory, *, warm_seconds: float, seconds: float, epoch_seconds: float
) -> Latency:
    """Measures the latency of one system. Raises NothingArrives if a record is not seen at the
    target."""
    make_topic(ground.source, TOPIC)
    mirror = factory(ground, Order(TOPIC, "latency", epoch_seconds))
    interval = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        mirror.start()
        found = _probe(ground, mirror, warm_seconds, seconds)
    finally:
        sys.setswitchinterval(interval)
        mirror.stop()
        delete_topics(ground.source, [TOPIC])
    ends = "" if found.epoch_ends is None else f", {found.epoch_ends} epoch ends"
    say(
        f"  p50 {found.p50:.1f} ms, p99 {found.p99:.1f} ms, p99.9 {found.p999:.1f} ms,"
        f" worst {found.worst:.0f} ms{ends},"
        f" {found.window.cpu_seconds / found.window.seconds:.2f} cores"
    )
    return found


def _probe(ground: Ground, mirror: Mirror, warm_seconds: float, seconds: float) -> Latency:
    source = _Sender(ground, int((warm_seconds + START_SECONDS_MAX + seconds) * 1.2))
    sink = None
    try:
        source.start()
        admin = ground.target.admin()
        if not until(lambda: log_end(admin, mirror.target_topic) > 0, START_SECONDS_MAX):
            raise NothingArrives(str(mirror.process.failure("carries nothing")))
        sink = _Receiver(ground, mirror.target_topic, source.capacity)
        sink.start()
        time.sleep(warm_seconds)
        tree = Tree(mirror.process.pid)
        epochs = _epochs(mirror)
        cpu, began_at, first = tree.cpu_seconds(), time.perf_counter(), source.sent
        while (left := began_at + seconds - time.perf_counter()) > 0:
            time.sleep(min(1.0, left))
            tree.look()
        last, took = source.sent, time.perf_counter() - began_at
        window = Window(last - first, took, tree.cpu_seconds() - cpu, tree.peak_rss_mb)
        ends = None if epochs is None else (_epochs(mirror) or 0) - epochs
        source.stop()
        seen = sink
        until(lambda: seen.has_all(first, last), STRAGGLER_SECONDS_MAX)
    finally:
        source.stop()
        if sink is not None:
            sink.stop()
    return _judged(source, sink, first, last, ends, window)


def _judged(
    source: _Sender, sink: _Receiver, first: int, last: int, ends: int | None, window: Window
) -> Latency:
    sent = np.frombuffer(source.acknowledged_at, dtype=np.float64)[first:last]
    seen = np.frombuffer(sink.seen_at, dtype=np.float64)[first:last]
    missing = int((seen == 0).sum())
    if missing or (sent == 0).any():
        raise NothingArrives(f"{missing} of {last - first} records were not seen at the target")
    taken_ms = (seen - sent) * 1000
    p50, p99, p999 = np.percentile(taken_ms, (50, 99, 99.9)).tolist()
    return Latency(p50, p99, p999, float(taken_ms.max()), ends, window)


def _epochs(mirror: Mirror) -> int | None:
    return mirror.epochs_over() if isinstance(mirror, Sluice) else None


class _Sender:
    """Produces numbered records at an even pace, and notes when each was acknowledged."""

    def __init__(self, ground: Ground, seconds_max: int) -> None:
        self.capacity = seconds_max * RECORDS_PER_SECOND
        self.acknowledged_at = array("d", bytes(8 * self.capacity))
        self.sent = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._producer = Producer(
            {
                **ground.source.librdkafka_options(),
                "acks": "all",
                # The default of librdkafka and of Kafka 4's producer. It is not part of the
                # latency.
                "linger.ms": 5,
                "log_level": 0,
                "compression.type": "lz4",
                "on_delivery": self._acknowledged,
            }
        )

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        if not self._over.is_set():
            self._over.set()
            self._thread.join()
            self._producer.flush(10)

    def _run(self) -> None:
        filling = b"." * (RECORD_BYTES - 12)
        began_at = time.perf_counter()
        while not self._over.is_set():
            elapsed = time.perf_counter() - began_at
            due = min(int(elapsed * RECORDS_PER_SECOND), self.capacity)
            for number in range(self.sent, due):
                self._producer.produce(
                    TOPIC, b"%012d" % number + filling, partition=number % PARTITIONS
                )
            self.sent = max(self.sent, due)
            # Returns as soon as an acknowledgment arrives.
            self._producer.poll(TICK_SECONDS)
            time.sleep(TICK_SECONDS / 4)

    def _acknowledged(self, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self.acknowledged_at[int((message.value() or b"")[:12])] = time.perf_counter()


class _Receiver:
    """Reads the target as any consumer would, and notes when each record was first seen."""

    def __init__(self, ground: Ground, topic: str, capacity: int) -> None:
        self.seen_at = array("d", bytes(8 * capacity))
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._consumer = Consumer(
            {
                **ground.target.librdkafka_options(),
                "group.id": "bench",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "log_level": 0,
            }
        )
        self._consumer.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()
        self._consumer.close()

    def has_all(self, first: int, last: int) -> bool:
        return bool((np.frombuffer(self.seen_at, dtype=np.float64)[first:last] > 0).all())

    def _run(self) -> None:
        while not self._over.is_set():
            message = self._consumer.poll(0.1)
            if message is not None and message.error() is None:
                number = int((message.value() or b"")[:12])
                if not self.seen_at[number]:
                    self.seen_at[number] = time.perf_counter()

"""Producer of numbered documents at an even pace."""

from __future__ import annotations

import random
import threading
import time
from array import array

from confluent_kafka import Producer

from bench.flights import document
from bench.ground import PARTITIONS
from deploy.lab.kafka import KafkaCluster

TICK_SECONDS = 0.002
FLUSH_SECONDS = 60.0


class PacedProducer:
    """Produces documents whose ids count from 0, and notes when each was handed over.

    Args:
        linger_ms: 5 is the default of librdkafka and of Kafka 4's producer.
    """

    def __init__(
        self, kafka: KafkaCluster, topic: str, records_per_second: int, *, linger_ms: float = 5.0
    ) -> None:
        self.sent = 0
        self.produced_at = array("d")
        """Time of produce() by id, by perf_counter."""
        self._topic, self._rate = topic, records_per_second
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._producer = Producer(
            {
                **kafka.librdkafka_options(),
                "acks": "all",
                "enable.idempotence": True,
                "compression.type": "lz4",
                "linger.ms": linger_ms,
                "log_level": 3,
                "queue.buffering.max.messages": 1_000_000,
            }
        )

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ends, and waits until the cluster has everything. Raises RuntimeError if it has not."""
        if not self._over.is_set():
            self._over.set()
            self._thread.join()
            if self._producer.flush(FLUSH_SECONDS):
                raise RuntimeError("the source cluster does not take the load")

    def _run(self) -> None:
        rng = random.Random(self._topic)
        began_at = time.perf_counter()
        while not self._over.is_set():
            due = int((time.perf_counter() - began_at) * self._rate)
            while self.sent < due and not self._over.is_set():
                value = document(self.sent, rng)
                try:
                    self._producer.produce(self._topic, value, partition=self.sent % PARTITIONS)
                except BufferError:
                    self._producer.poll(0.1)
                    continue
                self.produced_at.append(time.perf_counter())
                self.sent += 1
            self._producer.poll(0)
            time.sleep(TICK_SECONDS)

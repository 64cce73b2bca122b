"""Producer of numbered records at an even pace."""

from __future__ import annotations

import random
import time
from array import array
from collections.abc import Callable
from functools import partial

from confluent_kafka import Producer

from bench.background import Background
from bench.flights import document
from bench.ground import PARTITIONS
from deploy.lab.kafka import KafkaCluster

TICK_SECONDS = 0.002
FLUSH_SECONDS = 60.0


class PacedProducer(Background):
    """Produces records whose numbers count from 0, and notes when each was handed over.

    Args:
        linger_ms: 5 is the default of librdkafka and of Kafka 4's producer.
        value: of a record by its number; None: a document whose id it is.
    """

    def __init__(
        self,
        kafka: KafkaCluster,
        topic: str,
        records_per_second: int,
        *,
        linger_ms: float = 5.0,
        value: Callable[[int], bytes] | None = None,
    ) -> None:
        super().__init__()
        self.sent = 0
        self.produced_at = array("d")
        """Time of produce() by number, by perf_counter."""
        self._topic, self._rate = topic, records_per_second
        self._value = value or partial(document, rng=random.Random(topic))
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

    def stop(self) -> None:
        """Ends, and waits until the cluster has everything. Raises RuntimeError if it has not, and
        what ended the work before."""
        if not self.over.is_set():
            super().stop()
            if self._producer.flush(FLUSH_SECONDS):
                raise RuntimeError("the source cluster does not take the load")

    def work(self) -> None:
        began_at = time.perf_counter()
        while not self.over.is_set():
            due = int((time.perf_counter() - began_at) * self._rate)
            while self.sent < due and not self.over.is_set():
                value = self._value(self.sent)
                try:
                    self._producer.produce(self._topic, value, partition=self.sent % PARTITIONS)
                except BufferError:
                    self._producer.poll(0.1)
                    continue
                self.produced_at.append(time.perf_counter())
                self.sent += 1
            self._producer.poll(0)
            time.sleep(TICK_SECONDS)

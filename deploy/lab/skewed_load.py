"""Load with a rate in bytes per second for each partition, produced by a thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self

from confluent_kafka import Producer

from deploy.lab.kafka import KafkaCluster

TICK_SECONDS = 0.02


class SkewedLoad:
    """Produces while the `with` block runs; all records are acknowledged at its end.

    Args:
        bytes_per_second: by partition; may be changed while it runs.
        record_bytes: size of each value. Values begin with the time of sending, Unix time in
            seconds, and are unique.
        timestamp_ms: returns the timestamp of record number n; 0: the time of sending.
    """

    def __init__(
        self,
        cluster: KafkaCluster,
        topic: str,
        bytes_per_second: Mapping[int, float],
        record_bytes: int = 500,
        timestamp_ms: Callable[[int], int] = lambda _: 0,
    ) -> None:
        self.bytes_per_second = bytes_per_second
        self._topic, self._record_bytes = topic, record_bytes
        self._timestamp_ms = timestamp_ms
        self._producer = Producer({**cluster.librdkafka_options(), "linger.ms": 2})
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"load {topic}", daemon=True)
        self.sent = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()
        if self._producer.flush(60):
            raise TimeoutError(f"{self._topic}: not all records of the load were taken")

    def _run(self) -> None:
        owed: dict[int, float] = {}
        last = time.monotonic()
        while not self._over.wait(TICK_SECONDS):
            now = time.monotonic()
            elapsed, last = now - last, now
            for partition, rate in self.bytes_per_second.items():
                owed[partition] = owed.get(partition, 0.0) + rate * elapsed
                while owed[partition] >= self._record_bytes:
                    owed[partition] -= self._record_bytes
                    # Numbered, since two records may be sent within a microsecond.
                    value = b"%.6f %d" % (time.time(), self.sent)
                    self._producer.produce(
                        self._topic,
                        value.ljust(self._record_bytes, b"."),
                        partition=partition,
                        timestamp=self._timestamp_ms(self.sent),
                    )
                    self.sent += 1
            self._producer.poll(0)

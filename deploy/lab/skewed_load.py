"""Load whose partitions differ: each takes in its own number of bytes a second, from a thread."""

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
    """Runs while the `with` block does, and has all of it on disk behind it.

    Args:
        bytes_per_second: by partition; may be changed while it runs.
        record_bytes: of each value. It begins with the time of sending, unix seconds; no two are
            the same.
        timestamp_ms: of record number n; 0: the time of sending.
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
                    # Numbered: two may be sent within a microsecond.
                    value = b"%.6f %d" % (time.time(), self.sent)
                    self._producer.produce(
                        self._topic,
                        value.ljust(self._record_bytes, b"."),
                        partition=partition,
                        timestamp=self._timestamp_ms(self.sent),
                    )
                    self.sent += 1
            self._producer.poll(0)

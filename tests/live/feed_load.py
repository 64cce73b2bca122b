"""Load of a feed: JSON records that a thread goes on to send, also while their cluster is lost."""

from __future__ import annotations

import json
import threading
import time
from typing import Self

from confluent_kafka import KafkaError, Message, Producer

from deploy.lab.kafka import KafkaCluster

TICK_SECONDS = 0.05
END_SECONDS_MAX = 60.0


class FeedLoad:
    """Records of one topic into one cluster, in the background. Use as a context manager.

    Args:
        origin: field of each record that tells where it comes from.
    """

    def __init__(
        self,
        cluster: KafkaCluster,
        topic: str,
        *,
        origin: str,
        partitions: int,
        records_per_second: float,
    ) -> None:
        self.acknowledged = 0
        self.failures: list[str] = []
        self._topic, self._origin, self._partitions = topic, origin, partitions
        self._per_second = records_per_second
        self._producer = Producer(
            {
                "bootstrap.servers": cluster.bootstrap,
                "acks": "all",
                "enable.idempotence": True,
                "linger.ms": 20,
                "message.timeout.ms": 0,  # waits for its cluster without limit
                "reconnect.backoff.max.ms": 500,
                "log_level": 0,
            }
        )
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._thread.join()
        self._producer.purge()

    def stop(self) -> int:
        """Ends the load; returns the number of its records, all of them acknowledged."""
        self._ending.set()
        self._thread.join()
        left = self._producer.flush(END_SECONDS_MAX)
        assert not left and not self.failures, (left, self.failures[:3])
        return self.acknowledged

    def _run(self) -> None:
        sent, began_at = 0, time.monotonic()
        while not self._ending.wait(TICK_SECONDS):
            due = int((time.monotonic() - began_at) * self._per_second)
            for number in range(sent, due):
                self._send(number)
            sent = max(sent, due)
            self._producer.poll(0)

    def _send(self, number: int) -> None:
        price = None if number % 7 == 0 else number / 4
        record = {"id": number, "name": f"näme {number}", "origin": self._origin, "price": price}
        self._producer.produce(
            self._topic,
            json.dumps(record).encode(),
            str(number).encode(),
            number % self._partitions,
            on_delivery=self._delivered,
        )

    def _delivered(self, error: KafkaError | None, _: Message) -> None:
        if error is None:
            self.acknowledged += 1
        else:
            self.failures.append(str(error))

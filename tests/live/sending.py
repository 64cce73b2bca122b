"""A load that runs beside a test."""

from __future__ import annotations

import itertools
import threading
import time
import uuid

from deploy.lab.kafka import KafkaCluster
from deploy.lab.traffic import PLAIN, Shape, records, send
from deploy.lab.wait import until

PATIENCE_SECONDS = 120.0
CHUNK_SECONDS = 0.5
"""Least time from chunk to chunk: the carriers share the cores."""


class Sending:
    """Sends chunks of 200 distinct records until the `with` block ends."""

    def __init__(
        self, cluster: KafkaCluster, topic: str, partitions: int = 1, shape: Shape = PLAIN
    ) -> None:
        self.sent = 0
        self._what = cluster, topic, partitions, shape
        self._is_over = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Sending:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        if self._failure:
            raise self._failure

    def until_sent(self, count: int) -> None:
        """Waits until the broker has acknowledged `count` more records."""
        goal = self.sent + count
        assert until(lambda: self.sent >= goal or not self._thread.is_alive(), PATIENCE_SECONDS)

    def _run(self) -> None:
        cluster, topic, partitions, shape = self._what
        mark = uuid.uuid4().hex[:6]
        try:
            for number in itertools.count():
                if self._is_over.is_set():
                    return
                began = time.monotonic()
                portion = records(200, partitions=partitions, origin=f"{mark}.{number}.")
                self.sent += send(cluster, topic, portion, shape)
                self._is_over.wait(max(0.0, began + CHUNK_SECONDS - time.monotonic()))
        except BaseException as error:
            self._failure = error

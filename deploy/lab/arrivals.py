"""Arrival times of the records of a SkewedLoad, as seen by a reader of the target."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from types import TracebackType
from typing import NamedTuple, Self

from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as KafkaTopicPartition

from balancer.topic_partition import TopicPartition
from deploy.lab.kafka import KafkaCluster


class Arrival(NamedTuple):
    """Arrival of one record. Times are Unix times in seconds."""

    arrived: float
    sent: float
    place: TopicPartition
    offset: int


class Arrivals:
    """Reads in a thread while the `with` block runs, from the log ends at its start.

    Args:
        places: topics and partitions.
    """

    def __init__(self, cluster: KafkaCluster, places: Iterable[TopicPartition]) -> None:
        self.seen: list[Arrival] = []
        self._places = list(places)
        self._consumer = Consumer(
            {**cluster.librdkafka_options(), "group.id": "arrivals", "fetch.wait.max.ms": 5}
        )
        self._consumer.assign([self._end(*place) for place in self._places])
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()
        self._consumer.close()

    def is_current(self, since: float = 0.0) -> bool:
        """Returns True if every partition has a record that was sent in the last second and after
        `since`."""
        newest = {each.place: each.sent for each in list(self.seen)}
        after = max(time.time() - 1.0, since)
        return all(newest.get(place, 0.0) > after for place in self._places)

    def silences(self, begin: float, end: float) -> dict[TopicPartition, tuple[float, float]]:
        """Maps each partition to its longest gap between arrivals: its length and its end, in
        seconds.

        Only records sent between `begin` and `end` count.
        """
        arrived: dict[TopicPartition, list[float]] = defaultdict(list)
        for each in list(self.seen):
            if begin < each.sent < end:
                arrived[each.place].append(each.arrived)
        found = {}
        for place, times in arrived.items():
            times.sort()
            gaps = [(after - before, after) for before, after in pairwise(times)]
            found[place] = max(gaps, default=(0.0, times[0]))
        return found

    def first(self, place: TopicPartition, *, sent: float = 0.0, offset: int = 0) -> Arrival:
        """Returns the first record of a partition sent at `sent` or later, at `offset` or behind
        it.

        Raises ValueError if no such record has arrived.
        """
        for each in self.seen:
            if each.place == place and each.sent >= sent and each.offset >= offset:
                return each
        raise ValueError(f"{place}: nothing sent since {sent} came from offset {offset} on")

    def latencies(self, begin: float, end: float) -> list[float]:
        """Returns the latency in seconds of each record sent between `begin` and `end`."""
        return [each.arrived - each.sent for each in list(self.seen) if begin < each.sent < end]

    def _end(self, topic: str, partition: int) -> KafkaTopicPartition:
        _, end = self._consumer.get_watermark_offsets(KafkaTopicPartition(topic, partition))
        return KafkaTopicPartition(topic, partition, end)

    def _run(self) -> None:
        while not self._over.is_set():
            for message in self._consumer.consume(1000, 0.05):
                if message.error() is None:
                    value = message.value()
                    assert isinstance(value, bytes)
                    place = TopicPartition(str(message.topic()), int(message.partition() or 0))
                    offset = message.offset()
                    assert offset is not None
                    self.seen.append(Arrival(time.time(), float(value[:17]), place, offset))

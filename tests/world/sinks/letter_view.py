"""View of a feed's dead letters from outside: by the record that each is of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from aggregator.loader.produced import HEADER_PREFIX
from replicator.config.names import dead_letter_topic
from tests.replicator.batches.source_batches import decoded
from tests.world.checks.log_reading import LogReading
from tests.world.kafka.kafka_cluster import KafkaCluster
from tests.world.kafka.log_batch import Batch
from tests.world.kafka.partition import Observer, Partition

Content = tuple[bytes | None, bytes | None]
"""Key and value of a record."""


class RecordPlace(NamedTuple):
    """Place of a record.

    Args:
        incarnation: of its log.
    """

    topic: str
    partition: int
    offset: int
    incarnation: int = 0


class LetterView(Observer):
    """Observer of the topic of dead letters.

    Args:
        seen_again: called with each record of which a second letter is committed.
    """

    def __init__(
        self, cluster: KafkaCluster, feed: str, seen_again: Callable[[RecordPlace], object]
    ) -> None:
        self._seen_again = seen_again
        self.sent: dict[RecordPlace, tuple[int, int]] = {}
        """Records with letters on disk, committed or not, and the producer of the last one."""
        self.contents: dict[RecordPlace, Content] = {}
        """Keys and values of these letters."""
        self.committed: Counter[RecordPlace] = Counter()
        """Number of committed letters of each record."""
        self._last: dict[RecordPlace, Content] = {}
        """Keys and values of committed letters."""
        self._any: dict[int, LogReading] = {}
        self._stable: dict[int, LogReading] = {}
        for partition in cluster.topics[dead_letter_topic(feed)].partitions:
            self._any[partition.number] = LogReading(partition)
            self._stable[partition.number] = LogReading(partition, is_stable=True)
            partition.observers.append(self)

    def advanced(self, partition: Partition) -> None:
        for batch in self._any[partition.number].batches():
            for place, content in _places(batch):
                self.sent[place] = batch.producer_id, batch.producer_epoch
                self.contents[place] = content
        for batch in self._stable[partition.number].batches():
            for place, content in _places(batch):
                if self._last.setdefault(place, content) != content:
                    # The log was cut, and has another record there under its former name.
                    self.committed[place] = 0
                self._last[place] = content
                self.committed[place] += 1
                if self.committed[place] > 1:
                    self._seen_again(place)


def _places(batch: Batch) -> list[tuple[RecordPlace, Content]]:
    found = []
    for record in decoded(batch.data) if not batch.is_marker else ():
        # The record's own may be of any kind.
        headers = {
            key: (value or b"").decode()
            for key, value in record.headers
            if key.startswith(HEADER_PREFIX)
        }
        place = RecordPlace(
            headers["sluice.topic"],
            int(headers["sluice.partition"]),
            int(headers["sluice.offset"]),
            int(headers.get("sluice.incarnation", 0)),
        )
        found.append((place, (record.key, record.value)))
    return found

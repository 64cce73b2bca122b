"""Adoption memory: the partitions that a feed has adopted in a cluster, for as long as the cluster
lives.

Committed offsets expire while nobody renews them; the compacted topic `sluice.adopted.<feed>` does
not. A partition that is remembered and has no intent has lost it. The driver writes the memory in
its own transactions, beside the witness.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import re2

from aggregator.formats.record_fields import split
from aggregator.intents.intent import Intent
from aggregator.loader.produced import Produced
from balancer.topic_partition import TopicPartition
from replicator.batches.committed_records import committed_records
from replicator.config.names import adopted_topic
from replicator.config.settings import re2_options
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Cluster
from replicator.kafka.client.custody import Custody

log = logging.getLogger(__name__)

READ_BYTES = 1 << 20
WHOLE = b"whole"
"""Key of the record that says: every partition that the feed adopts is remembered. No partition has
such a key, which would have a slash."""
STALLED_SECONDS, STALLED_MAX = 0.1, 50
"""Pause and number of fetches that bring nothing: the driver before may have been killed within a
transaction, whose marker is on its way."""
SELECTED = b"selected"
"""Key of the record that says which topics the last driver selected."""
NOTED_SECONDS = 3600.0
"""Shortest time between two notes of one partition that is loaded on."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """An adopted partition, as it was noted last.

    Args:
        offset: every record below it was loaded by then.
        noted_ms: Unix time.
        incarnation, log_begin, former: of the partition's log (see Intent).
    """

    topic_id: UUID | None
    offset: int
    noted_ms: int
    incarnation: int = 0
    log_begin: int = 0
    former: int = 0

    @classmethod
    def of(cls, intent: Intent, now_ms: int) -> Remembered:
        """Returns what is noted of a partition with this intent."""
        log = intent.incarnation, intent.log_begin, intent.former
        return cls(intent.topic_id, intent.offset, now_ms, *log)

    def lost_intent(self, free_id: str) -> Intent:
        """Returns the intent of a partition that has lost its own, with the log that it is of.

        Args:
            free_id: transactional id of intents that nobody holds.
        """
        return Intent(
            custody=Custody.RELEASED,
            offset=self.offset,
            reference=self.offset,
            transactional_id=free_id,
            topic_id=self.topic_id,
            incarnation=self.incarnation,
            log_begin=self.log_begin,
            former=self.former,
        )

    def encode(self) -> bytes:
        """Returns the value of the record."""
        fields: dict[str, Any] = {
            "topic": self.topic_id and self.topic_id.hex,
            "offset": self.offset,
            "at": self.noted_ms,
        }
        if self.incarnation:
            fields["log"] = [self.incarnation, self.log_begin, self.former]
        return json.dumps(fields, separators=(",", ":")).encode()

    def is_outdated(self, intent: Intent, now_ms: int, pause_seconds: float) -> bool:
        """Returns True if a partition with this intent is to be noted anew."""
        log = intent.topic_id, intent.incarnation, intent.log_begin
        if (self.topic_id, self.incarnation, self.log_begin) != log:
            return True
        is_old = not 0 <= now_ms - self.noted_ms < pause_seconds * 1000
        return is_old and intent.offset != self.offset


def decode(value: bytes) -> Remembered:
    """Returns a note. Raises ValueError, KeyError or TypeError for one that cannot be read."""
    fields = json.loads(value)
    topic = fields["topic"]
    incarnation, begin, former = map(int, fields.get("log", (0, 0, 0)))
    return Remembered(
        topic_id=UUID(hex=topic) if topic else None,
        offset=int(fields["offset"]),
        noted_ms=int(fields["at"]),
        incarnation=incarnation,
        log_begin=begin,
        former=former,
    )


@dataclass(frozen=True, slots=True)
class Selected:
    """Topics that a driver selected for a feed. Whatever it would have selected, and nobody has
    adopted, was made since (decision 0088).

    Args:
        topics, deny: patterns of names.
        waiting: topics that were there before, and are not adopted yet.
    """

    topics: tuple[str, ...]
    deny: tuple[str, ...] = ()
    waiting: frozenset[str] = frozenset()

    def takes(self, topic: str) -> bool:
        """Returns True for a topic that would have been adopted if it had been there."""
        return topic not in self.waiting and self._is_allowed(topic)

    def _is_allowed(self, topic: str) -> bool:
        options = re2_options()
        if any(re2.fullmatch(pattern, topic, options) for pattern in self.deny):
            return False
        return any(re2.fullmatch(pattern, topic, options) for pattern in self.topics)

    def encode(self) -> bytes:
        """Returns the value of the record."""
        fields = {"topics": self.topics, "deny": self.deny, "waiting": sorted(self.waiting)}
        return json.dumps(fields, separators=(",", ":")).encode()


def selected(value: bytes) -> Selected:
    """Returns a selection. Raises ValueError, KeyError or TypeError for one that cannot be read."""
    fields = json.loads(value)
    topics, deny, waiting = (
        tuple(map(str, fields[name])) for name in ("topics", "deny", "waiting")
    )
    for pattern in (*topics, *deny):
        try:
            re2.compile(pattern, re2_options())
        except re2.error as error:
            raise ValueError(f"{pattern!r} is no pattern: {error}") from error
    return Selected(topics, deny, frozenset(waiting))


def found_first(names: Iterable[str], before: Selected | None) -> frozenset[str]:
    """Returns the topics that a driver finds first: those that the driver before did not select, or
    did not adopt. The others were made since.

    Args:
        names: of the feed's topics.
        before: None where nothing is known of that driver.
    """
    return frozenset(name for name in names if before is None or not before.takes(name))


class AdoptionMemory:
    """Memory of one feed in one cluster.

    Args:
        cluster: open; the topic is added to those that it watches.
    """

    def __init__(self, cluster: Cluster, feed: str) -> None:
        self.is_whole = False
        """Every adopted partition is remembered: one that is not was never adopted."""
        self.is_there = False
        """The topic is there, and has been read."""
        self.selected: Selected | None = None
        """Topics that the last driver selected; None where that is not known."""
        self._cluster = cluster
        self._topic = adopted_topic(feed)
        self._feed = feed
        self._known: dict[TopicPartition, Remembered | None] = {}
        self._position = 0

    def __bool__(self) -> bool:
        return bool(self._known)

    def __contains__(self, place: TopicPartition) -> bool:
        return place in self._known

    @property
    def places(self) -> list[TopicPartition]:
        """All partitions that were ever adopted."""
        return list(self._known)

    def of(self, place: TopicPartition) -> Remembered | None:
        """Returns the last note of a partition; None if there is none, or it cannot be read."""
        return self._known.get(place)

    def has_topic(self, topic: str, topic_id: UUID) -> bool:
        """Returns True if a partition of this very topic is remembered."""
        return any(
            place.topic == topic and noted is not None and noted.topic_id == topic_id
            for place, noted in self._known.items()
        )

    async def read(self) -> None:
        """Reads the topic, from where it was read to before. Raises Answered, Unreachable."""
        records = read_topic(self._cluster, self._topic, 0, self._position)
        async for key, value, next_offset in records:
            self.take(key, value)
            self._position = next_offset
        self.is_there = True

    async def read_if_there(self) -> None:
        """Reads the topic if the cluster shows it. Raises Answered, Unreachable."""
        self._cluster.watch([self._topic])
        await self._cluster.refresh()
        if self._cluster.topic(self._topic) is not None:
            await self.read()

    def lost_intent(self, place: TopicPartition, free_id: str) -> Intent | None:
        """Returns the intent of a partition that has lost its own; None if nothing is noted."""
        noted = self._known.get(place)
        return noted.lost_intent(free_id) if noted else None

    def noting(self, intents: Mapping[TopicPartition, Intent], now_ms: int) -> list[Produced]:
        """Returns the records to write in the transaction of intents whose log is another one than
        noted, or that go on at another offset."""
        return self.records(self.due(intents, now_ms, 0.0)) if self.is_there else []

    def due(
        self,
        intents: Mapping[TopicPartition, Intent],
        now_ms: int,
        pause_seconds: float = NOTED_SECONDS,
    ) -> dict[TopicPartition, Remembered]:
        """Returns the notes to write, of partitions with these intents.

        Args:
            pause_seconds: shortest time between two notes of a partition.
        """
        found = {}
        for place, intent in intents.items():
            noted = self._known.get(place)
            is_readable = bool(intent.transactional_id)
            if is_readable and (noted is None or noted.is_outdated(intent, now_ms, pause_seconds)):
                found[place] = Remembered.of(intent, now_ms)
        return found

    def records(self, notes: Mapping[TopicPartition, Remembered]) -> list[Produced]:
        """Returns notes as records to write in a transaction; `wrote` follows it."""
        return [
            Produced(self._topic, 0, noted.noted_ms, _key(place), noted.encode())
            for place, noted in notes.items()
        ]

    def whole_record(self) -> Produced:
        """Returns the record that says that no adopted partition is missing."""
        return Produced(self._topic, 0, time.time_ns() // 1_000_000, WHOLE, b"{}")

    def selected_record(self, chosen: Selected) -> Produced:
        """Returns the record that says which topics a driver selects."""
        now_ms = time.time_ns() // 1_000_000
        return Produced(self._topic, 0, now_ms, SELECTED, chosen.encode())

    def wrote(
        self, notes: Mapping[TopicPartition, Remembered], chosen: Selected | None = None
    ) -> None:
        """Notes that the transaction is committed."""
        self._known |= notes
        self.selected = chosen or self.selected

    def take(self, key: bytes | None, value: bytes | None) -> None:
        """Takes in a record of the topic; one that cannot be read counts as adopted."""
        if key == WHOLE:
            self.is_whole = True
            return
        if key == SELECTED:
            self._take_selected(value or b"")
            return
        topic, _, number = (key or b"").decode(errors="replace").rpartition("/")
        if not topic or not number.isdigit():
            log.warning("event=adoption-unreadable feed=%s key=%r", self._feed, key)
            return
        place = TopicPartition(topic, int(number))
        try:
            # It was adopted, whatever else a later version says of it.
            noted = decode(value) if value else None
            self._known[place] = _newer(self._known.get(place), noted)
        except (ValueError, KeyError, TypeError) as error:
            self._known[place] = None
            log.warning("event=adoption-unreadable feed=%s key=%r: %s", self._feed, key, error)

    def _take_selected(self, value: bytes) -> None:
        try:
            self.selected = selected(value)
        except (ValueError, KeyError, TypeError) as error:
            self.selected = None
            log.warning("event=adoption-unreadable feed=%s key=selected: %s", self._feed, error)


def _newer(before: Remembered | None, noted: Remembered | None) -> Remembered | None:
    """Returns the note of the newer log: a driver that has read an intent just before an operator
    accepted another log notes the former one behind that."""
    is_former = before and noted and noted.incarnation < before.incarnation
    return before if is_former else noted


def _key(place: TopicPartition) -> bytes:
    return f"{place.topic}/{place.partition}".encode()


async def read_topic(
    cluster: Cluster, topic: str, partition: int, position: int = 0
) -> AsyncIterator[tuple[bytes | None, bytes | None, int]]:
    """Yields keys and values of the committed records of a partition, up to its end of now, each
    with the offset behind the records that were fetched with it.

    Args:
        cluster: open; the topic is added to those that it watches.
        position: offset to begin at; one that the log does not have is its start.

    Raises Answered, Unreachable; the latter also if the end is not reached.
    """
    cluster.watch([topic])
    await cluster.refresh()
    begin = await cluster.log_start(topic, partition)
    end = await cluster.log_end(topic, partition)
    begin = position if begin < position <= end else begin
    size, stalled = READ_BYTES, 0
    while begin < end:
        fetched = await cluster.fetch(topic, partition, begin, size, read_committed=True)
        found = committed_records(fetched.records, position=begin, aborted=fetched.aborted)
        if found.next_offset == begin:
            size, stalled = max(size, found.cut_bytes), stalled + 1
            if found.trouble or stalled > STALLED_MAX:
                why = found.trouble or "a transaction is open"
                raise Unreachable(f"{cluster.name}: {topic}-{partition} at {begin}: {why}")
            await asyncio.sleep(STALLED_SECONDS)
            continue
        begin, stalled = found.next_offset, 0
        if found.records is not None:
            records = split(found.records)
            keys, values = records.key_column.to_pylist(), records.value_column.to_pylist()
            for key, value in zip(keys, values, strict=True):
                yield key, value, begin

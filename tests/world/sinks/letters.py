"""Dead letters that their topic refuses, or does not take as a whole (57).

Records have headers of every kind, are from two hours ahead, or have values of some KB, while the
topic of their letters takes records of few KB, or none, and none from the future. Operators change
its limits, and let partitions go on that are parked for a letter.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from aggregator.formats.record_headers import encoded_headers
from aggregator.intents.intent import Intent
from aggregator.loader.intent_effects import EffectProducer, LetterRefused
from aggregator.loader.produced import HEADER_PREFIX, Limits, Produced
from balancer.topic_partition import TopicPartition
from replicator.config.names import dead_letter_topic
from replicator.kafka.client.cluster import Answered
from replicator.kafka.client.fenced_committer import FencedCommitter
from replicator.kafka.client.loss import LossKind
from tests.replicator.batches.source_batches import Record, decoded
from tests.world.checks.log_reading import LogReading
from tests.world.checks.wrong import Wrong
from tests.world.faults.fault import Fault
from tests.world.kafka.partition import Partition
from tests.world.kafka.progress_retention import DESCRIBE_CONFIGS, Retention
from tests.world.sinks import resting
from tests.world.sinks.feed_load import BROKEN, FeedSender
from tests.world.sinks.feed_scene import FeedScene
from tests.world.sinks.intent_view import IntentView
from tests.world.sinks.loaded_feed import FEED, LoadedFeed
from tests.world.sinks.loader_faults import later
from tests.world.sinks.seen_logs import SeenLogs
from tests.world.virtual_loop import VirtualLoop

AHEAD_MS = 2 * 3600 * 1000
AFTER_MAX_MS = 3600 * 1000
"""message.timestamp.after.max.ms, as topics have it by default."""
LETTERLESS_BYTES = resting.LETTERLESS_BYTES
LIMITS = (5_000, 8_000, 20_000)
"""Largest batches of the topic of dead letters."""
WHOLE_BYTES = 3_500
"""Size of a record whose letter fits, whatever the limit."""
LARGE_BYTES = (200, 4_000, 9_000, 30_000)
HEADERS: tuple[tuple[str, bytes | None], ...] = (
    ("trace", b"\xff\xfe\x00"),
    ("nothing", None),
    ("empty", b""),
    ("tracestate", b"t" * 107),
    ("long", b"\x80" * 700),
    ("trace", b"again"),
)
PARKED_SECONDS = 30.0
"""Bound of the time between a refusal and the park that names it."""


@dataclass(slots=True)
class LetterSender(FeedSender):
    """Producer of records many of which become dead letters, of every shape."""

    def _record(self, at: int, now: int) -> Record:
        return lettered(super(LetterSender, self)._record(at, now), self.dice, now)


def lettered(made: Record, dice: random.Random, now: int) -> Record:
    """Returns a record with other headers, and perhaps a large broken value or a time ahead."""
    headers = (*made.headers, *dice.sample(HEADERS, dice.randint(0, len(HEADERS))))
    value = made.value
    if dice.random() < 0.15:
        value = BROKEN + (value or b"") + dice.randbytes(dice.choice(LARGE_BYTES))
    timestamp = now + AHEAD_MS if dice.random() < 0.2 else now
    return replace(made, value=value, headers=headers, timestamp=timestamp)


@dataclass(slots=True)
class LetterTopic:
    """Topic of a feed's dead letters, with its limits."""

    partitions: Sequence[Partition]
    refused_at: float = float("-inf")
    """Time at which it last refused every letter."""

    def limit(self, bytes_max: int) -> None:
        for partition in self.partitions:
            partition.max_message_bytes = bytes_max

    @property
    def is_letterless(self) -> bool:
        return self.partitions[0].max_message_bytes <= LETTERLESS_BYTES


@dataclass(slots=True)
class Letters:
    """Dead letters of one feed, compared with the records that they are of.

    Args:
        is_dead: returns True if a record of a partition has to become one.
    """

    feeding: LoadedFeed
    is_dead: Callable[[TopicPartition, Record], bool]
    topic: LetterTopic = field(init=False)
    source: SeenLogs[Record] = field(init=False)
    counts: Counter[TopicPartition] = field(init=False, default_factory=Counter)
    """Committed letters of each partition."""
    _readings: list[LogReading] = field(init=False, default_factory=list)

    def begin(self) -> None:
        """Sets the limits, and begins to read; the topics are there."""
        cluster = self.feeding.cluster
        self.topic = LetterTopic(cluster.topics[dead_letter_topic(FEED)].partitions)
        self.topic.limit(LIMITS[-1])
        for partition in self.topic.partitions:
            partition.after_max_ms = AFTER_MAX_MS
            self._readings.append(LogReading(partition, is_stable=True))
        for broker in cluster.brokers.values():
            broker.handlers[DESCRIBE_CONFIGS] = Retention().describe_configs
        self.source = SeenLogs(cluster, self.feeding.places, lambda _, record: record)
        loop = self.feeding.world.loop
        IntentView(cluster, FEED, partial(self.check, loop))

    def wrong_park(self, place: TopicPartition, intent: Intent, now: float) -> str:
        """Returns what is wrong with an intent that is parked for a letter; empty: nothing."""
        loss = intent.parked
        if loss is None or loss.kind is not LossKind.LETTER_REFUSED:
            return ""
        record = self.source.today(place).records.get(loss.begin)
        if record is None or not self.is_dead(place, record):
            return f"{place}: parked for {loss.begin}, which is no dead letter (57): {record}"
        is_refused = self.topic.is_letterless or now - self.topic.refused_at < PARKED_SECONDS
        return "" if is_refused else f"{place}: parked, while letters are taken (57): {loss}"

    def check(self, loop: VirtualLoop, place: TopicPartition, intent: Intent) -> None:
        """Checks an intent that is committed, and all letters up to now."""
        if text := self.new_flaw() or self.wrong_park(place, intent, loop.time()):
            loop.fail(Wrong(text))

    def new_flaw(self) -> str:
        """Reads on; returns how a letter that is new differs from its record; empty: none does."""
        for reading in self._readings:
            for batch in reading.batches():
                for letter in decoded(batch.data) if not batch.is_marker else ():
                    told = dict(letter.headers)
                    number = int(told[f"{HEADER_PREFIX}partition"] or b"")
                    place = TopicPartition((told[f"{HEADER_PREFIX}topic"] or b"").decode(), number)
                    offset = int(told[f"{HEADER_PREFIX}offset"] or b"")
                    self.counts[place] += 1
                    if text := difference(self.source.today(place).records[offset], letter):
                        return f"{place}: the letter of {offset} {text} (57)"
        return ""

    def differences(self, intents: Mapping[TopicPartition, Sequence[Intent]]) -> list[str]:
        """Returns a text for each partition whose intent counts others than its topic has."""
        found = [text] if (text := self.new_flaw()) else []
        return found + [
            f"{place}: {seen[-1].dead_letters} letters counted, {self.counts[place]} there"
            for place, seen in intents.items()
            if seen[-1].dead_letters != self.counts[place]
        ]


def difference(record: Record, letter: Record) -> str:
    """Returns how a letter differs from its record, by a rule of its own; empty: it does not."""
    own = tuple(it for it in letter.headers if not it[0].startswith(HEADER_PREFIX))
    told = {
        name.removeprefix(HEADER_PREFIX): text or b"" for name, text in letter.headers[len(own) :]
    }
    if told.get("timestamp") != str(record.timestamp).encode():
        return f"has another time: {told}"
    size = len(record.value or b"") + len(encoded_headers(record.headers))
    pairs = (
        ("key", record.key, letter.key),
        ("value", record.value, letter.value),
        ("headers", encoded_headers(record.headers), encoded_headers(own)),
    )
    for name, true, found in pairs:
        if f"{name}.bytes" not in told:
            if found != true:
                return f"has another {name}"
        elif size < WHOLE_BYTES:
            return f"is cut, and would fit: {told}"
        elif true is None or (
            told[f"{name}.bytes"] != str(len(true)).encode()
            or told[f"{name}.sha256"] != hashlib.sha256(true).hexdigest().encode()
            or (name == "value" and not true.startswith(found or b""))
        ):
            return f"tells another {name}: {told}"
    return ""


# -- faults


async def change_limits(scene: FeedScene[Any]) -> None:
    """Has the topic of dead letters take smaller or larger ones."""
    bytes_max = scene.dice.choice(LIMITS)
    scene.tell(f"dead letters of {bytes_max} bytes are taken")
    if not scene.letters.topic.is_letterless:
        scene.letters.topic.limit(bytes_max)


async def refuse_letters(scene: FeedScene[Any]) -> None:
    """Has the topic take no letter for a while; then an operator raises its limit, and lets parked
    partitions go on."""
    topic, seconds = scene.letters.topic, scene.dice.uniform(0.5, 6.0)
    if topic.is_letterless:
        return
    scene.tell(f"no dead letters for {seconds:.1f} s")
    topic.limit(LETTERLESS_BYTES)

    def mend() -> None:
        topic.limit(scene.dice.choice(LIMITS))
        topic.refused_at = scene.loop.time()

    later(scene, seconds, mend)


async def go_on(scene: FeedScene[Any]) -> None:
    await resting.accept_letters(scene)


FAULTS = (
    Fault("change the limits of letters", change_limits, 4),
    Fault("take no letters for a while", refuse_letters, 4),
    Fault("partitions go on", go_on, 4),
)
KINDS = (
    *(it.name for it in FAULTS),
    *("kill a loader", "kill a loader soon", "strike at an intent", "new epoch"),
    "stop a loader amid a transaction",
)


# -- mutations


class KeepsTimes(EffectProducer):
    """Sends letters with the times of their records, and takes a refused one for final."""

    def effects(self, committer: FencedCommitter, records: Sequence[Produced]) -> Any:
        return super().effects(committer, [_timed(each) for each in records])

    async def _narrower(self, limits: Limits, answer: Answered, *more: Any) -> Limits:
        found = await super()._narrower(replace(limits, has_times=False), answer, *more)
        return replace(found, has_times=True)


class CutsNothing(EffectProducer):
    """Takes a letter that is too large for one that is never taken."""

    async def _narrower(
        self, limits: Limits, answer: Answered, first: Produced, count: int, size_bytes: int
    ) -> Limits:
        if count > 1:
            return replace(limits, records=1)
        if first.of is None:
            raise answer
        raise LetterRefused(first.of, f"{first.topic} refuses its dead letter: {answer}")


class SendsSome(EffectProducer):
    """Sends as many letters of a partition as one small batch has."""

    async def _send(
        self, identity: Any, place: TopicPartition, records: Sequence[Produced]
    ) -> None:
        await super()._send(identity, place, records[:3])


class GarblesHeaders(EffectProducer):
    """Sends headers as texts."""

    def effects(self, committer: FencedCommitter, records: Sequence[Produced]) -> Any:
        return super().effects(committer, [_garbled(each) for each in records])


def _timed(record: Produced) -> Produced:
    told = dict(record.headers).get(f"{HEADER_PREFIX}timestamp")
    return record if told is None else replace(record, timestamp_ms=int(told))


def _garbled(record: Produced) -> Produced:
    own = len(record.headers) - record.added
    texts = [(name, (it or b"").decode(errors="replace").encode()) for name, it in record.headers]
    return replace(record, headers=(*texts[:own], *record.headers[own:]))

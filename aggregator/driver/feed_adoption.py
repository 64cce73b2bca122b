"""Feed adoption: first intents of partitions that were never loaded, and the renewal of what no
loader renews, for one feed in one cluster.

A partition without an intent has lost it, or is new. `partition_start` decides; one that has lost
its intent is parked by an intent that says so.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from aggregator.driver.adoption_memory import NOTED_SECONDS, AdoptionMemory, Selected, found_first
from aggregator.driver.partition_start import NotKnownYet, WithoutIntent, loss_of, parked_intent
from aggregator.driver.start_group import StartWaits
from aggregator.intents.intent import Intent
from aggregator.intents.intent_store import IntentStore
from aggregator.intents.stored import Stored
from aggregator.loader.intent_effects import EffectProducer
from aggregator.loader.produced import Produced
from balancer.topic_partition import TopicPartition
from replicator.config.feed_settings import Feed
from replicator.config.names import adopted_topic, unloaded_id
from replicator.kafka.admin.admin import Admin
from replicator.kafka.admin.topic import Topic
from replicator.kafka.client.cluster import Answered, Cluster, Fenced, ProducerStateLost
from replicator.kafka.client.custody import Custody
from replicator.kafka.client.fenced_committer import FencedCommitter, OffsetRows
from replicator.kafka.client.progress_expiry import ProgressExpiry, age_seconds, read_expiry
from replicator.runtime.clock import monotonic
from replicator.runtime.run_in_thread import run_in_thread
from replicator.spark.driver_command import Driver

log = logging.getLogger(__name__)

TOPICS_PER_TRANSACTION = 50
INTENTS_PER_TRANSACTION = 2000

Starts = Callable[..., Awaitable[Mapping[TopicPartition, int]]]
Probe = Callable[[Collection[TopicPartition], bool], Awaitable[Mapping[TopicPartition, Stored]]]
"""Returns what the store has of partitions; the flag asks for all that was ever told of them."""
Intents = Mapping[TopicPartition, Intent]
Commits = Mapping[str, OffsetRows]
T = TypeVar("T")


@dataclass(eq=False, kw_only=True)
class FeedAdoption:
    """Adoption of one feed's partitions.

    Args:
        name: of the cluster, for logs.
        cluster, admin: clients of the cluster.
        driver: the leading one; its transactions carry first intents, witnesses and the memory.
        memory: of what was adopted; left empty where its topic cannot be made.
        starts: returns the first offsets of new partitions; raises StartWaits.
        probe: asks the store what it has of partitions without an intent.
        is_new: nothing of the feed was in the cluster when this driver began, so that whatever is
            not remembered was never adopted.
    """

    feed: Feed
    name: str
    cluster: Cluster
    admin: Admin
    driver: Driver
    memory: AdoptionMemory
    starts: Starts
    probe: Probe
    timeout_ms: int
    can_remember: bool = True
    is_new: bool = False
    expiry: ProgressExpiry = field(default_factory=ProgressExpiry)
    found_first: frozenset[str] | None = None
    """Topics that are older than the feed, or came under it by another setting, as far as this
    driver can tell; None before its first look. Records of all others are loaded from their first
    one on."""
    _intent_store: IntentStore = field(init=False)
    _effects: EffectProducer = field(init=False)
    _seen: dict[TopicPartition, tuple[Intent, float]] = field(init=False, default_factory=dict)
    _first_names: frozenset[str] | None = field(init=False, default=None)
    _whole_at: float = field(init=False, default=float("-inf"))
    """Time at which all intents are looked at next."""

    def __post_init__(self) -> None:
        self._intent_store = IntentStore(self.cluster, self.feed.name)
        self._effects = EffectProducer(self.cluster)

    @property
    def pause_seconds(self) -> float:
        """Longest pause between two rounds in which nothing expires."""
        return self.expiry.renewal_seconds

    async def round(self, topics: Sequence[Topic], unreadable: Collection[str] = ()) -> None:
        """Adopts what is new, parks what has lost its intent, and renews what nobody else does.

        Args:
            unreadable: names of further topics of the feed, which wait for a right.

        Raises:
            StartWaits: it is not known yet where some partitions begin; the others are adopted.
            Fenced: a newer driver leads.
        """
        if self._first_names is None:
            self._first_names = frozenset((*(topic.name for topic in topics), *unreadable))
        if self.can_remember and not self.memory.is_there:
            await self.memory.read()
        if self.found_first is None:
            self.found_first = found_first(self._first_names, self.memory.selected)
        is_whole = monotonic() >= self._whole_at
        if is_whole:
            self.expiry = await read_expiry(self.cluster)
        counts = {topic.name: await self._intent_store.witnessed(topic.name) for topic in topics}
        asked = {
            TopicPartition(topic.name, number): topic
            for topic in topics
            for number in range(0 if is_whole else counts[topic.name], topic.partitions)
        }
        known = await self._intent_store.read(asked)
        missing = {place: topic for place, topic in asked.items() if place not in known}
        waits: list[str] = []
        found = dict(known)
        if missing:
            if self.memory.is_there:
                # An operator who accepts a loss names another log, beside this driver.
                await self.memory.read()
            is_first = not any(counts.values()) and not known and not self.memory
            found |= await self._settle(missing, counts, is_first, waits)
        lacking = {place.topic for place in missing if place not in found}
        waiting = self.found_first & {*lacking, *unreadable}
        await self._witness(topics, counts, found, waiting, is_whole=is_whole)
        if is_whole:
            await self._renew(known)
            self._whole_at = monotonic() + min(self.pause_seconds, NOTED_SECONDS)
        if waits:
            raise StartWaits(waits[0])

    async def note(self) -> None:
        """Notes how far all partitions are loaded, before a long rest. Raises Fenced."""
        if not self.memory.is_there:
            return
        known = await self._intent_store.read(self.memory.places)
        notes = self.memory.due(known, time.time_ns() // 1_000_000, pause_seconds=0.0)
        if notes:
            witness = self._intent_store.witness(adopted_topic(self.feed.name), 1)
            await self._commit(witness, self.memory.records(notes))
            self.memory.wrote(notes)

    # -- partitions without an intent

    async def _settle(
        self,
        missing: Mapping[TopicPartition, Topic],
        counts: Mapping[str, int],
        is_first: bool,
        waits: list[str],
    ) -> dict[TopicPartition, Intent]:
        """Begins or parks partitions without an intent; returns their intents.

        Args:
            counts: of adopted partitions, as the witnesses say.
            waits: receives why partitions have to wait.
        """
        begins = await run_in_thread(self.admin.offsets, list(missing), "earliest")
        ends = await run_in_thread(self.admin.offsets, list(missing), "latest")
        partitions = {
            place: WithoutIntent(
                topic_id=topic.topic_id,
                log_start=begins[place],
                log_end=ends.get(place),
                was_adopted=place.partition < counts[place.topic] or place in self.memory,
                remembered=self.memory.of(place),
                is_memory_whole=self._is_whole(topic),
                expiry=self.expiry,
            )
            for place, topic in missing.items()
            # A partition without a leader has no answer: the next round asks again.
            if place in begins
        }
        doubtful = [place for place, each in partitions.items() if self._is_asked_for(place, each)]
        is_thorough = any(partitions[place].needs_all_told for place in doubtful)
        stored = await self.probe(doubtful, is_thorough) if doubtful else {}
        lost: dict[TopicPartition, Intent] = {}
        new: list[TopicPartition] = []
        undecided = {place.topic for place in missing if place not in partitions}
        for place, each in partitions.items():
            try:
                loss = loss_of(each, stored.get(place, Stored()))
            except NotKnownYet as error:
                undecided.add(place.topic)
                waits.append(f"{place.topic}-{place.partition}: {error}")
                continue
            if loss is None:
                new.append(place)
            else:
                lost[place] = parked_intent(each, loss, unloaded_id(self.feed.name))
        parked = await self._park(lost)
        new = [place for place in new if place.topic not in undecided]
        try:
            begun = await self._begin(new, missing, counts, is_first)
        except StartWaits as error:
            waits.append(str(error))
            begun = {}
        return {**parked, **begun}

    def _is_whole(self, topic: Topic) -> bool:
        """Returns True if a partition of this topic that is not remembered was never adopted."""
        if self.is_new or self.memory.is_whole:
            return True
        return self.memory.has_topic(topic.name, topic.topic_id)

    def _is_asked_for(self, place: TopicPartition, partition: WithoutIntent) -> bool:
        """Returns True for a partition of which the store may know more than the memory."""
        if partition.was_adopted:
            return True
        # A partition that was added to a topic that is remembered has no records anywhere.
        return not self.memory.has_topic(place.topic, partition.topic_id)

    async def _park(self, lost: Intents) -> Intents:
        """Commits parked intents where there is none, by the custody of a free one."""
        parked: dict[TopicPartition, Intent] = {}
        for some in _parts(lost.items(), INTENTS_PER_TRANSACTION):
            wanted = dict(some)
            try:
                holder = await self._opened(unloaded_id(self.feed.name))
                found = await self._intent_store.read_as_holder(holder, wanted)
                wanted = {place: each for place, each in wanted.items() if place not in found}
                if wanted:
                    await self._intent_store.replace(holder, {}, wanted)
            except (Fenced, ProducerStateLost):
                continue  # an operator, or a loader, was quicker: the next round looks again
            for place, each in wanted.items():
                log.error(
                    "event=intent-gone feed=%s cluster=%s topic=%s partition=%d: %s",
                    self.feed.name,
                    self.name,
                    *place,
                    each.parked,
                )
            parked |= wanted
        return parked

    async def _begin(
        self,
        places: Sequence[TopicPartition],
        topics: Mapping[TopicPartition, Topic],
        counts: Mapping[str, int],
        is_first: bool,
    ) -> Intents:
        """Commits first intents of partitions that were never loaded. Raises StartWaits."""
        starts = await self.starts(self.feed, places, counts, is_first=is_first) if places else {}
        begun: dict[TopicPartition, Intent] = {}
        for name in sorted({place.topic for place in places}):
            own = [place for place in places if place.topic == name]
            if not all(place in starts for place in own):
                continue  # a partition without a leader has no answer: the next round asks again
            intents = {
                place: Intent(
                    custody=Custody.RELEASED,
                    offset=starts[place],
                    reference=starts[place],
                    transactional_id=unloaded_id(self.feed.name),
                    topic_id=topics[place].topic_id,
                )
                for place in own
            }
            await self.driver.commit(self._intent_store.offsets(intents))
            begun |= intents
            log.info(
                "event=adopted feed=%s cluster=%s topic=%s partitions=%d",
                self.feed.name,
                self.name,
                name,
                len(own),
            )
        return begun

    # -- witnesses and memory

    async def _witness(
        self,
        topics: Sequence[Topic],
        counts: Mapping[str, int],
        found: Intents,
        waiting: frozenset[str],
        *,
        is_whole: bool,
    ) -> None:
        """Commits the witnesses of topics whose partitions all have intents, and notes these.

        In this order: a witness without its intent means that the intent was lost. What is selected
        is noted for the next driver.

        Args:
            waiting: topics that were found first, and are not adopted yet.
        """
        numbers = {
            topic.name: [
                number
                for number in range(0 if is_whole else counts[topic.name], topic.partitions)
                if TopicPartition(topic.name, number) not in found
            ]
            for topic in topics
        }
        complete = [topic for topic in topics if not numbers[topic.name]]
        grown = [topic for topic in complete if is_whole or counts[topic.name] < topic.partitions]
        now_ms = time.time_ns() // 1_000_000
        chosen = Selected(*self.feed.patterns, waiting)
        for some in _parts(grown, TOPICS_PER_TRANSACTION):
            names = {topic.name for topic in some}
            witnesses: dict[str, OffsetRows] = {}
            for topic in some:
                count = max(topic.partitions, counts[topic.name])
                witnesses |= self._intent_store.witness(topic.name, count)
            own = {place: each for place, each in found.items() if place.topic in names}
            notes = self.memory.due(own, now_ms) if self.can_remember else {}
            records = self.memory.records(notes) + self._unnoted(chosen)
            await self._commit(witnesses, records)
            self.memory.wrote(notes, chosen if self.can_remember else None)
        if unnoted := self._unnoted(chosen):
            await self._commit(
                self._intent_store.witness(adopted_topic(self.feed.name), 1), unnoted
            )
            self.memory.wrote({}, chosen)
        if self.is_new or (is_whole and len(complete) == len(topics)):
            await self._complete_memory()

    def _unnoted(self, chosen: Selected) -> list[Produced]:
        """Returns the record that says what is selected, if it is not the last one."""
        is_news = self.can_remember and self.memory.selected != chosen
        return [self.memory.selected_record(chosen)] if is_news else []

    async def _complete_memory(self) -> None:
        """Notes that no adopted partition is missing in the memory."""
        if self.can_remember and not self.memory.is_whole:
            witness = self._intent_store.witness(adopted_topic(self.feed.name), 1)
            await self._commit(witness, [self.memory.whole_record()])
            self.memory.is_whole = True

    async def _commit(self, witnesses: Commits, records: Sequence[Produced]) -> None:
        """Commits witnesses with records of the memory. Raises Fenced."""
        effects = self._effects.effects(self.driver.committer, records) if records else None
        await self.driver.commit(witnesses, effects)

    # -- renewal

    async def _renew(self, known: Intents) -> None:
        """Commits intents again that their holder does not renew."""
        now, now_ms = monotonic(), time.time_ns() // 1_000_000
        by_id: dict[str, dict[TopicPartition, Intent]] = {}
        before, self._seen = self._seen, {}
        for place, intent in known.items():
            seen, since = before.get(place, (intent, now))
            since = since if seen == intent else now
            self._seen[place] = intent, since
            if self._is_due(intent, now_ms, now - since):
                by_id.setdefault(intent.transactional_id, {})[place] = intent
        for transactional_id, due in by_id.items():
            for some in _parts(due.items(), INTENTS_PER_TRANSACTION):
                await self._renew_of(transactional_id, dict(some))

    def _is_due(self, intent: Intent, now_ms: int, seen_seconds: float) -> bool:
        if not intent.transactional_id:
            return False  # it cannot be read, nor be written as it is
        age = age_seconds(intent.committed_ms, now_ms, seen_seconds)
        is_held = intent.custody is Custody.HELD and not intent.parked
        return self.expiry.is_due(age, is_held=is_held)

    async def _renew_of(self, transactional_id: str, due: Intents) -> None:
        free_id = unloaded_id(self.feed.name)
        try:
            holder = await self._opened(transactional_id)
            found = await self._intent_store.read_as_holder(holder, due)
            same = {place: it for place, it in due.items() if found.get(place) == it}
            if same:
                now_ms = time.time_ns() // 1_000_000
                renewed = {
                    place: as_renewed(it.by_our_clock(now_ms), free_id)
                    for place, it in same.items()
                }
                await self._intent_store.replace(holder, same, renewed)
        except Answered as error:
            # A loader was quicker, and renews them itself; or a topic was deleted just now.
            log.info(
                "event=intents-not-renewed feed=%s cluster=%s: %s", self.feed.name, self.name, error
            )

    async def _opened(self, transactional_id: str) -> FencedCommitter:
        return await FencedCommitter(self.cluster, transactional_id, self.timeout_ms).open()


def as_renewed(intent: Intent, free_id: str) -> Intent:
    """Returns an intent as it is committed again by who does not hold it.

    A parked one is freed: the loader that parked it lives, and would be fenced at each renewal.
    """
    if not intent.parked:
        return intent
    return replace(intent, custody=Custody.RELEASED, transactional_id=free_id)


def _parts(items: Iterable[T], most: int) -> Iterator[list[T]]:
    """Yields the items in lists of at most so many."""
    left = list(items)
    for begin in range(0, len(left), most):
        yield left[begin : begin + most]

"""Loss acceptance: lets parked partitions of a feed go on, by custody of their intents."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from aggregator.intents.intent import Intent
from aggregator.intents.intent_store import IntentStore
from aggregator.loader.accepted_intents import (
    LogToday,
    NoRestart,
    NotAsConfirmed,
    accepted,
    renamed,
)
from aggregator.loader.intent_effects import EffectProducer
from aggregator.loader.known_records import CannotTellApart, KnownRecords, NothingKnown
from aggregator.loader.produced import Produced
from balancer.topic_partition import TopicPartition
from replicator.config.names import unloaded_id
from replicator.kafka.client.cluster import Cluster
from replicator.kafka.client.fenced_committer import FencedCommitter
from replicator.kafka.client.loss import Loss, LossKind
from replicator.runtime.gather import gather_or_cancel
from replicator.runtime.run_in_thread import run_in_thread

TRANSACTION_MS = 30_000
Change = Callable[[TopicPartition, Intent], Intent]


class Memory(Protocol):
    """Memory of what was adopted, which outlives intents."""

    def lost_intent(self, place: TopicPartition, free_id: str) -> Intent | None:
        """Returns the intent of a partition that has lost its own; None if nothing is noted."""

    def noting(self, intents: Mapping[TopicPartition, Intent], now_ms: int) -> list[Produced]:
        """Returns the records to write in the transaction of intents."""


class NoMemory:
    """Memory of a feed that has none."""

    def lost_intent(self, place: TopicPartition, free_id: str) -> Intent | None:
        return None

    def noting(self, intents: Mapping[TopicPartition, Intent], now_ms: int) -> list[Produced]:
        return []


@dataclass(slots=True)
class AcceptedLosses:
    """Result of an acceptance.

    Args:
        continued: partitions that go on, with the intents that were committed.
        left: the others, with the reason.
    """

    continued: dict[TopicPartition, Intent] = field(default_factory=dict)
    left: dict[TopicPartition, str] = field(default_factory=dict)


def unchanged(_: TopicPartition, intent: Intent) -> Intent:
    """Returns the intent as it is."""
    return intent


async def accept(
    cluster: Cluster,
    feed: str,
    partitions: Collection[TopicPartition],
    restart_at: int | None = None,
    changed: Change = unchanged,
    known: KnownRecords | None = None,
    memory: Memory | None = None,
) -> AcceptedLosses:
    """Lets the parked ones of these partitions go on behind their losses.

    Args:
        cluster: open, and aware of the topics.
        restart_at: offset to go on at, in the place of the end of each loss.
        changed: returns a parked intent as it shall go on; raises NotAsConfirmed.
        known: asked where a partition goes on in another log, or its intent is gone.
        memory: tells which log a partition is of whose intent is gone, and is told of new ones in
            the transaction that accepts them: intents expire.

    Raises:
        Fenced: a loader was faster; ask again.
    """
    intent_store = IntentStore(cluster, feed)
    result = AcceptedLosses()
    found = await intent_store.read(partitions)
    parked = {p: intent for p, intent in found.items() if intent.parked}
    missing = [p for p in partitions if p not in found]
    for partition in found.keys() - parked.keys():
        result.left[partition] = "it is not parked"
    by_id: dict[str, list[TopicPartition]] = {}
    for partition, intent in parked.items():
        by_id.setdefault(intent.transactional_id or unloaded_id(feed), []).append(partition)
    if missing:
        by_id.setdefault(unloaded_id(feed), []).extend(missing)
    step = _Acceptance(
        cluster,
        intent_store,
        feed,
        restart_at,
        changed,
        known or NothingKnown(),
        memory or NoMemory(),
        EffectProducer(cluster),
        result,
    )
    for transactional_id, some in by_id.items():
        await step.accept(transactional_id, some)
    return result


@dataclass(frozen=True, slots=True)
class _Acceptance:
    """Acceptance of the partitions of one feed, a transactional id after the other."""

    cluster: Cluster
    intent_store: IntentStore
    feed: str
    restart_at: int | None
    changed: Change
    known: KnownRecords
    memory: Memory
    producer: EffectProducer
    result: AcceptedLosses

    async def accept(self, transactional_id: str, partitions: Collection[TopicPartition]) -> None:
        """Lets the partitions go on whose intents the id may replace."""
        holder = await FencedCommitter(self.cluster, transactional_id, TRANSACTION_MS).open()
        before = await self.intent_store.read_as_holder(holder, partitions)
        new: dict[TopicPartition, Intent] = {}
        for partition in partitions:
            try:
                new[partition] = await self._accepted(partition, before.get(partition))
            except (NotAsConfirmed, CannotTellApart) as error:
                self.result.left[partition] = str(error)
            except NoRestart as error:
                self.result.left[partition] = f"{error}: name an offset with --restart-at"
        if new:
            notes = self.memory.noting(new, time.time_ns() // 1_000_000)
            effects = self.producer.effects(holder, notes) if notes else None
            await self.intent_store.replace(holder, before, new, effects=effects)
            self.result.continued |= new

    async def _accepted(self, partition: TopicPartition, intent: Intent | None) -> Intent:
        topic = self.cluster.topic(partition.topic)
        if intent is not None and not intent.parked:
            raise NotAsConfirmed("it is not parked any more")
        if topic is None:
            raise NotAsConfirmed("the cluster does not show its topic: create it first")
        start, end = await gather_or_cancel(
            self.cluster.log_start(*partition), self.cluster.log_end(*partition)
        )
        free_id = unloaded_id(self.feed)
        if intent is not None:
            intent = self.changed(partition, intent)
        elif noted := self.memory.lost_intent(partition, free_id):
            intent = noted.park(Loss(LossKind.INTENT_GONE, noted.offset, None))
        now_ms = time.time_ns() // 1_000_000
        leader = self.cluster.leader(*partition)
        epoch = leader.epoch if leader else -1
        epoch_end = await self.cluster.epoch_end(*partition, epoch) if leader else -1
        read_end = -1
        if intent is not None and intent.leader_epoch >= 0 and intent.topic_id == topic.id:
            read_end = await self.cluster.epoch_end(*partition, intent.leader_epoch)
        today = LogToday(topic.id, start, end, epoch, epoch_end, read_end)
        new = accepted(intent, today, free_id, self.restart_at, now_ms)
        if _is_log_unknown(intent) and await run_in_thread(
            self.known.has_any, partition, new.offset, new.incarnation
        ):
            new = renamed(new, now_ms, new.offset)
        if new.incarnation != (intent.incarnation if intent else 0):
            await run_in_thread(self.known.check_names, partition)
        return new


def _is_log_unknown(intent: Intent | None) -> bool:
    """Returns True if nobody knows which log a partition's records were read from.

    An intent that the driver has made in the place of a lost one names the topic of today.
    """
    if intent is None or intent.topic_id is None:
        return True
    return intent.parked is not None and intent.parked.kind is LossKind.INTENT_GONE

"""Intent committer: commits the intents of many partitions together, and in the same transaction
produces their dead letters and what else belongs to them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from aggregator.intents.intent import Intent
from aggregator.intents.intent_store import IntentStore
from aggregator.loader.counters import COMMIT_FAILURES, COMMIT_SECONDS, COMMITS
from aggregator.loader.dead_letters import record_digest
from aggregator.loader.held_partition import HeldPartition
from aggregator.loader.intent_effects import EffectProducer, LetterRefused
from aggregator.loader.loader_counts import LoaderCounts
from aggregator.loader.produced import Produced
from aggregator.loader.sent_letters import SentLetter, SentLetters, Sight
from balancer.topic_partition import TopicPartition
from replicator.kafka.client.cluster import Fenced
from replicator.kafka.client.custody import Custody
from replicator.kafka.client.fenced_committer import FencedCommitter, Identity
from replicator.kafka.client.loss import Loss, LossKind

Effects = Mapping[TopicPartition, Sequence[Produced]]
"""Records of a transaction, by the partition whose intent they belong to."""


class IntentRefused(Exception):
    """The partition's intent was not committed, and none will be but the one that parks it."""


@dataclass(eq=False)
class IntentCommitter:
    """Commits intents; a caller's blocks may be sent once `commit` has returned.

    Callers that come while a commit runs share the next one: a transaction takes some 6 ms, however
    many partitions are in it.

    Args:
        sent: finds dead letters that a former holder has sent in a commit that was lost; None: none
            are looked for.
    """

    intent_store: IntentStore
    fenced_committer: FencedCommitter
    producer: EffectProducer
    loader_counts: LoaderCounts = field(default_factory=LoaderCounts)
    sent: SentLetters | None = None
    _wanted: dict[TopicPartition, HeldPartition] = field(init=False, default_factory=dict)
    _effects: dict[TopicPartition, list[Produced]] = field(init=False, default_factory=dict)
    _next: asyncio.Future[None] | None = field(init=False, default=None)
    _running: asyncio.Task[None] | None = field(init=False, default=None)
    _failure: Exception | None = field(init=False, default=None)
    """Error of the first commit that failed: none follows it."""

    async def commit(
        self,
        partition: HeldPartition,
        letters: Sequence[Produced] = (),
        told: Sequence[Produced] = (),
    ) -> None:
        """Commits the partition's intent as its progress is now, or later.

        Args:
            letters: dead letters, which the intent counts.
            told: other records of the same transaction.

        Raises:
            IntentRefused: a dead letter of the partition is refused: it is to be parked.
            Exception: what the commit raises: then the loader session has to end.
        """
        if partition.failure is not None:
            raise IntentRefused(str(partition.failure))
        await self._join(partition, letters, told)
        if partition.failure is not None:
            raise IntentRefused(str(partition.failure))

    async def park(self, partition: HeldPartition) -> None:
        """Commits the partition's intent as parked. Raises what `commit` raises, but
        IntentRefused."""
        await self._join(partition)

    async def _join(
        self,
        partition: HeldPartition,
        letters: Sequence[Produced] = (),
        told: Sequence[Produced] = (),
    ) -> None:
        """Takes part in the next commit, and waits for it."""
        if self._failure is not None:
            raise self._failure
        place = partition.partition
        self._wanted[place] = partition
        self._effects.setdefault(place, []).extend((*letters, *told))
        partition.progress.dead_letters += len(letters)
        if self._next is None:
            self._next = asyncio.get_running_loop().create_future()
        waiting = self._next
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._run())
        # Shielded: a cancelled caller must not take the commit from the others.
        await asyncio.shield(waiting)

    async def release(
        self, partitions: Mapping[TopicPartition, HeldPartition], free_id: str
    ) -> None:
        """Commits intents that free the partitions, all or none."""
        intents = {
            place: each.progress.intent(
                Custody.RELEASED,
                self.fenced_committer.producer_id,
                self.fenced_committer.epoch,
                free_id,
            )
            for place, each in partitions.items()
        }
        if intents:
            await self.intent_store.release(self.fenced_committer, intents)

    async def close(self) -> None:
        """Ends a running commit."""
        if self._running:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)
        if self._next and not self._next.done():
            self._next.cancel()

    async def _run(self) -> None:
        while (done := self._next) is not None:
            wanted: dict[TopicPartition, HeldPartition] = {}
            effects: Effects = {}
            try:
                await self._look_for_letters()
                wanted, effects = self._take()
                if wanted:
                    await self._commit(wanted, [each for some in effects.values() for each in some])
            except LetterRefused as refused:
                self._leave_out(refused, done, wanted, effects)
                continue
            except asyncio.CancelledError:
                done.cancel()
                if self._next is not None:
                    self._next.cancel()
                raise
            except Exception as error:
                self._failure = error
                _fail(done, error)
                # The session ends: those who came meanwhile would wait for a commit in vain.
                if self._next is not None:
                    _fail(self._next, error)
                return
            if not done.done():
                done.set_result(None)

    def _take(self) -> tuple[dict[TopicPartition, HeldPartition], Effects]:
        """Takes what is to be committed next."""
        taken = self._wanted, self._effects
        self._next, self._wanted, self._effects = None, {}, {}
        return taken

    async def _look_for_letters(self) -> None:
        """Looks which dead letters are there already, where a partition has its first ones."""
        tried: set[TopicPartition] = set()
        while self.sent is not None and (new := self._unlooked(tried)):
            for place, partitions in new.items():
                tried.update(each.partition for each in partitions)
                sight = await self.sent.look(place, {it.partition: it.intent for it in partitions})
                if sight is not None:
                    await self._note_letters(partitions, sight)

    def _unlooked(
        self, tried: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, Sequence[HeldPartition]]:
        """Returns the partitions whose letters nobody has looked for, by where these letters
        are."""
        found: dict[TopicPartition, list[HeldPartition]] = {}
        for place, records in self._effects.items():
            partition = self._wanted[place]
            letter = next((each for each in records if each.of), None)
            if letter and partition.sent_letters is None and place not in tried:
                at = TopicPartition(letter.topic, letter.partition)
                found.setdefault(at, []).append(partition)
        return found

    async def _note_letters(self, partitions: Iterable[HeldPartition], sight: Sight) -> None:
        """Notes the letters that are there. An intent that has not said where to look for them says
        so before one is sent: a commit that is lost could not."""
        begun: dict[TopicPartition, HeldPartition] = {}
        for each in partitions:
            sent = sight.sent.get(each.partition)
            each.sent_letters = sent or set()
            if sent is None:
                each.progress.letters_at = sight.end
                begun[each.partition] = each
        if begun:
            intents = {
                place: replace(each.intent, letters_at=sight.end) for place, each in begun.items()
            }
            await self.intent_store.commit(self.fenced_committer, intents)
            for place, each in begun.items():
                each.intent = intents[place]

    def _pass_letters(
        self, wanted: Mapping[TopicPartition, HeldPartition], letters: Iterable[Produced]
    ) -> None:
        """Notes that letters are counted by an intent that is shown."""
        topics: dict[TopicPartition, TopicPartition] = {}
        for letter in letters:
            if letter.of is not None:
                place, offset = letter.of
                topics[place] = TopicPartition(letter.topic, letter.partition)
                if sent := wanted[place].sent_letters:
                    # Also those of the offset's record of before a cut.
                    sent -= {each for each in sent if each.offset == offset}
        for place, at in topics.items():
            partition = wanted[place]
            # Where some are left, whoever comes next has to look for these as well.
            if all(it.offset < partition.intent.offset for it in partition.sent_letters or ()):
                progress = partition.progress
                progress.letters_at = self.producer.ends.get(at, progress.letters_at)

    def _leave_out(
        self,
        refused: LetterRefused,
        done: asyncio.Future[None],
        wanted: dict[TopicPartition, HeldPartition],
        effects: Effects,
    ) -> None:
        """Has the next commit take the intents of one that failed, but for the partition of which a
        dead letter is refused.

        Intents are never committed again without what came meanwhile: they would count dead letters
        that nobody has produced.
        """
        place, offset = refused.of
        why = Loss(LossKind.LETTER_REFUSED, offset, offset + 1, str(refused))
        wanted.pop(place).failure = why
        self._wanted.pop(place, None)
        self._effects.pop(place, None)
        self._wanted = wanted | self._wanted
        self._effects = {
            each: [*effects.get(each, ()), *self._effects.get(each, ())] for each in self._wanted
        }
        if self._next is None:
            self._next = done
        elif self._next is not done:
            self._next.add_done_callback(lambda later: _end_as(done, later))

    async def _commit(
        self, wanted: Mapping[TopicPartition, HeldPartition], produced: Sequence[Produced]
    ) -> None:
        intents = {place: self._intent(each) for place, each in wanted.items()}
        effects: Callable[[Identity], Awaitable[None]] | None = None
        if unsent := [each for each in produced if not _is_sent(wanted, each)]:
            effects = self.producer.effects(self.fenced_committer, unsent)
        began = time.monotonic()
        try:
            await self.intent_store.commit(self.fenced_committer, intents, effects=effects)
        except Exception as error:
            self.loader_counts.add(
                COMMIT_FAILURES, "fenced" if isinstance(error, Fenced) else "other"
            )
            raise
        now = time.monotonic()
        self.loader_counts.add(COMMITS)
        self.loader_counts.add(COMMIT_SECONDS, amount=now - began)
        for place, each in wanted.items():
            each.committed(intents[place], now)
        if self.sent is not None:
            self._pass_letters(wanted, produced)

    def _intent(self, partition: HeldPartition) -> Intent:
        """Returns the partition's intent of now: as parked, once a loss was found."""
        if partition.failure is not None:
            return partition.intent.park(partition.failure)
        intent: Intent = partition.progress.intent(
            Custody.HELD,
            self.fenced_committer.producer_id,
            self.fenced_committer.epoch,
            self.fenced_committer.transactional_id,
        )
        return intent.park(partition.loss_to_park) if partition.loss_to_park else intent


def _is_sent(wanted: Mapping[TopicPartition, HeldPartition], record: Produced) -> bool:
    """Returns True for a dead letter that is there already."""
    if record.of is None or not (sent := wanted[record.of.partition].sent_letters):
        return False
    digest = record_digest(record.key, record.value, record.headers)
    return SentLetter(record.of.offset, digest) in sent


def _end_as(waiting: asyncio.Future[None], other: asyncio.Future[None]) -> None:
    if waiting.done():
        return
    if other.cancelled():
        waiting.cancel()
    elif error := other.exception():
        waiting.set_exception(error)
        waiting.exception()  # as below
    else:
        waiting.set_result(None)


def _fail(waiting: asyncio.Future[None], error: Exception) -> None:
    if not waiting.done():
        waiting.set_exception(error)
        waiting.exception()  # read here, in case that no caller is left

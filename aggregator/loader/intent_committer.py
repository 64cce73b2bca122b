"""Intent committer: commits the intents of many partitions together, and in the same transaction
produces their dead letters and what else belongs to them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from aggregator.intents.intent import Intent
from aggregator.intents.intent_store import IntentStore
from aggregator.loader.counters import COMMIT_FAILURES, COMMIT_SECONDS, COMMITS
from aggregator.loader.held_partition import HeldPartition
from aggregator.loader.intent_effects import EffectProducer, LetterRefused
from aggregator.loader.produced import Produced
from aggregator.loader.tally import Tally
from balancer.plan import TopicPartition
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
    """

    store: IntentStore
    committer: FencedCommitter
    producer: EffectProducer
    tally: Tally = field(default_factory=Tally)
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
                Custody.RELEASED, self.committer.producer_id, self.committer.epoch, free_id
            )
            for place, each in partitions.items()
        }
        if intents:
            await self.store.release(self.committer, intents)

    async def close(self) -> None:
        """Ends a running commit."""
        if self._running:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)
        if self._next and not self._next.done():
            self._next.cancel()

    async def _run(self) -> None:
        while (taken := self._take()) is not None:
            done, wanted, effects = taken
            try:
                if wanted:
                    await self._commit(wanted, [each for some in effects.values() for each in some])
            except LetterRefused as refused:
                self._leave_out(refused, done, wanted, effects)
                continue
            except asyncio.CancelledError:
                done.cancel()
                if later := self._take():
                    later[0].cancel()
                raise
            except Exception as error:
                self._failure = error
                _fail(done, error)
                # The session ends: those who came meanwhile would wait for a commit in vain.
                if later := self._take():
                    _fail(later[0], error)
                return
            if not done.done():
                done.set_result(None)

    def _take(
        self,
    ) -> tuple[asyncio.Future[None], dict[TopicPartition, HeldPartition], Effects] | None:
        """Takes what is to be committed next, with the future that its callers await."""
        if self._next is None:
            return None
        taken = self._next, self._wanted, self._effects
        self._next, self._wanted, self._effects = None, {}, {}
        return taken

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
        if produced:
            effects = self.producer.effects(self.committer, produced)
        began = time.monotonic()
        try:
            await self.store.commit(self.committer, intents, effects=effects)
        except Exception as error:
            self.tally.add(COMMIT_FAILURES, "fenced" if isinstance(error, Fenced) else "other")
            raise
        now = time.monotonic()
        self.tally.add(COMMITS)
        self.tally.add(COMMIT_SECONDS, amount=now - began)
        for place, each in wanted.items():
            each.committed(intents[place], now)

    def _intent(self, partition: HeldPartition) -> Intent:
        """Returns the partition's intent of now: as parked, once a loss was found."""
        if partition.failure is not None:
            return partition.intent.park(partition.failure)
        intent: Intent = partition.progress.intent(
            Custody.HELD,
            self.committer.producer_id,
            self.committer.epoch,
            self.committer.transactional_id,
        )
        return intent.park(partition.loss_to_park) if partition.loss_to_park else intent


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

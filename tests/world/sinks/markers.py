"""Transactions whose markers of intents are left out (KAFKA-20734), while those of their dead
letters are written (12, 42).

Loaders are killed and stopped before they look at their commit. Or their transaction is aborted
while a loader of the same id commits intents of other partitions, and nobody takes theirs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextvars import Context
from typing import Any

from aggregator.loader.sent_letters import Intents, SentLetter, SentLetters, Sight
from balancer.topic_partition import TopicPartition
from replicator.config.names import dead_letter_topic
from replicator.kafka.client.cluster import UNKNOWN_TOPIC
from replicator.kafka.client.fenced_committer import FencedCommitter, Row
from tests.world.faults.fault import Fault
from tests.world.kafka.kafka_cluster import TRANSACTIONS
from tests.world.kafka.log_batch import Batch
from tests.world.kafka.partition import Observer, Partition
from tests.world.kafka.transaction_log import State, Transaction
from tests.world.process import Process
from tests.world.sinks import other_logs
from tests.world.sinks.feed_scene import FeedScene
from tests.world.sinks.loaded_feed import FEED
from tests.world.sinks.loader_faults import LOADER, STOP_SECONDS, kill_or_stop, later, strike_later

LEFT_OUT_SECONDS = 0.5
"""Time for which markers are left out: they are due within some milliseconds."""
ABSENT_SECONDS = (1.5, 4.0)
"""Time for which nobody takes the partitions of an aborted transaction."""


class _WithLetters(Observer):
    """Acts once, when a loader's transaction with dead letters comes to a state.

    Args:
        act: is told the transactional id.
    """

    def __init__(self, state: State, act: Callable[[str], object]) -> None:
        self._state = state
        self._act: Callable[[str], object] | None = act

    def appended(self, partition: Partition, broker: int, batch: Batch) -> None:
        found = batch.value
        if self._act is None or not isinstance(found, Transaction):
            return
        letters = dead_letter_topic(FEED)
        has_letters = any(topic == letters for topic, _ in found.partitions)
        if found.state is self._state and has_letters and LOADER.fullmatch(found.transactional_id):
            act, self._act = self._act, None
            act(found.transactional_id)


def _watch(scene: FeedScene[Any], state: State, act: Callable[[str], object]) -> None:
    watch = _WithLetters(state, act)
    for partition in scene.feeding.cluster.topics[TRANSACTIONS].partitions:
        partition.observers.append(watch)


def _leave_out(scene: FeedScene[Any]) -> None:
    cluster = scene.feeding.cluster
    cluster.left_out_share = 1.0
    later(scene, LEFT_OUT_SECONDS, setattr, cluster, "left_out_share", 0.0)


async def lose_commit(scene: FeedScene[Any]) -> None:
    """Leaves the markers of a commit with dead letters out, and kills or stops its loader."""
    kills, delay = scene.dice.random() < 0.7, scene.dice.uniform(0.0, 0.4)
    seconds = scene.dice.choice(STOP_SECONDS)

    def prepared(transactional_id: str) -> None:
        victim = scene.holder_of(transactional_id)
        if victim is not None and not scene.is_mended:
            _leave_out(scene)
            strike_later(scene, delay, hit, victim)

    def hit(victim: Process) -> None:
        kill_or_stop(scene, victim, None if kills else seconds, "; no markers")
        scene.plan_soon()

    _watch(scene, State.PREPARE_COMMIT, prepared)


async def lose_abort(scene: FeedScene[Any]) -> None:
    """Leaves the markers of an aborted transaction with dead letters out. The next loader of its id
    has the partitions of other ids, and for a while nobody takes those of the transaction."""
    seconds = scene.dice.uniform(*ABSENT_SECONDS)

    def begun(transactional_id: str) -> None:
        victim = scene.holder_of(transactional_id)
        if victim is not None and not scene.is_mended:
            Context().run(scene.loop.in_background, abort(transactional_id, victim))

    async def abort(transactional_id: str, victim: Process) -> None:
        held = scene.checks.intents.items()
        others = [place for place, seen in held if seen[-1].transactional_id != transactional_id]
        scene.tell(f"kill {victim.name}; no markers of the abort")
        victim.kill()
        _watch(scene, State.PREPARE_ABORT, lambda _: _leave_out(scene))
        await (scene.plan_one(transactional_id, others) if others else scene.plan())
        await asyncio.sleep(seconds)
        # Also once all is mended: the plan above has not all partitions.
        await scene.plan()

    _watch(scene, State.ONGOING, begun)


async def lose_commit_and_log(scene: FeedScene[Any]) -> None:
    """Leaves the markers of a commit with dead letters out, and kills its loader. The partition, or
    all of the topic, has another log before the next one looks."""
    delay, cuts = scene.dice.uniform(0.0, 0.4), scene.dice.random() < 0.6
    topic = scene.dice.choice(scene.places).topic

    def prepared(transactional_id: str) -> None:
        victim = scene.holder_of(transactional_id)
        if victim is not None and not scene.is_mended:
            _leave_out(scene)
            strike_later(scene, delay, hit, victim)

    def hit(victim: Process) -> None:
        kill_or_stop(scene, victim, None, "; no markers")
        if cuts:
            other_logs.cut(scene)
        else:
            other_logs.recreate(scene, topic)
        scene.plan_soon()

    _watch(scene, State.PREPARE_COMMIT, prepared)


FAULTS = (Fault("lose a commit", lose_commit, 3), Fault("lose an abort", lose_abort, 8))
KINDS = (*(it.name for it in FAULTS), "new epoch")
BESIDE_LOGS = (Fault("lose a commit and the log", lose_commit_and_log, 6),)
"""Only courses with an operator deal this (`Course.accepting`)."""


# -- mutations


class SeesNone(SentLetters):
    """Takes the topic of dead letters for one without any that is not counted."""

    async def look(self, place: TopicPartition, intents: Intents) -> Sight | None:
        found = await super().look(place, intents)
        return found and Sight(found.end, {partition: set() for partition in found.sent})


class _ByOffset(set[SentLetter]):
    """Letters that are told apart by the offsets of their records."""

    def __contains__(self, letter: object) -> bool:
        return isinstance(letter, SentLetter) and letter.offset in {it.offset for it in self}


class TellsNothingApart(SentLetters):
    """Takes a letter for that of whatever record is at its offset."""

    async def look(self, place: TopicPartition, intents: Intents) -> Sight | None:
        found = await super().look(place, intents)
        return found and Sight(found.end, {it: _ByOffset(some) for it, some in found.sent.items()})


class EndsNothing(FencedCommitter):
    """Commits without having ended what is pending from before."""

    async def _settle(
        self, rows: Mapping[str, Row], never: frozenset[int] = frozenset({UNKNOWN_TOPIC})
    ) -> None:
        # A takeover confirms coordinators whatever is missing.
        if not never:
            await super()._settle(rows, never)

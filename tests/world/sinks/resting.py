"""Rest of a feed: loaders are away beside a driver, or all are, for longer than a cluster keeps
committed offsets and transactional ids.

Only courses with a driver that looks again and again deal this.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from aggregator.driver.feed_adoption import FeedAdoption, Intents, as_renewed
from aggregator.intents.intent import Intent
from aggregator.intents.stored import Stored
from aggregator.loader import loss_acceptance
from aggregator.loader.loss_acceptance import TRANSACTION_MS
from balancer.plan import TopicPartition
from replicator.config.names import adopted_topic, dead_letter_topic, unloaded_id
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Answered
from replicator.kafka.client.fenced_committer import FencedCommitter
from replicator.kafka.client.loss import LossKind
from replicator.kafka.client.progress_expiry import UNRENEWED_PART
from tests.world.faults.fault import Fault
from tests.world.faults.strikes import api_key
from tests.world.process import Process
from tests.world.sinks.feed_scene import FeedScene, until
from tests.world.sinks.letter_view import RecordPlace
from tests.world.sinks.loaded_feed import FEED, as_it_is
from tests.world.sinks.loader_faults import later

OFFSET_FETCH = 9
LOOKS_MAX = 10
"""Most questions of a driver until it is stopped behind one; a look has half as many."""
PACE, SLOW_PACE = 0.5, 0.05
"""Pace of the load, and that while nobody loads."""
DRAIN_SECONDS = 40.0
"""Bound for loaders to release all that they hold."""
LETTERLESS_BYTES = 100
"""Largest batch of a topic that takes no dead letter."""
ADVICE = re.compile(r"--restart-at (\d+)")


@dataclass(slots=True)
class RestView:
    """Rest of a feed as checks see it: what may be gone, and for what a partition may be parked."""

    are_all_away: bool = False
    """Nobody renews intents: they expire."""
    gone: set[TopicPartition] = field(default_factory=set)
    """Partitions whose intent has expired: the next one follows none."""
    sent_again: set[RecordPlace] = field(default_factory=set)
    """Records whose dead letters are sent again, as nothing has told how far they were passed."""

    def explains(self, intent: Intent) -> bool:
        """Returns True if an intent may be parked for what it says."""
        loss = intent.parked
        if loss is not None and loss.kind is LossKind.INTENT_GONE:
            return self.are_all_away
        return loss is not None and loss.kind is LossKind.LETTER_REFUSED


async def loaders_away(scene: FeedScene[Any]) -> None:
    """Ends or kills all loaders, for up to two and a half retentions. The driver looks on."""
    seconds = scene.dice.uniform(0.3, 2.5) * _retention(scene)
    kills = scene.dice.random() < 0.6
    async with scene.lock:
        scene.tell(f"no loader for {seconds:.0f} s, {'killed' if kills else 'released'}")
        if kills:
            for loader in scene.running():
                loader.kill()
        else:
            await _drained(scene)
        await _sleep_slowly(scene, seconds)
    await scene.plan()


async def stop_driver_amid_look(scene: FeedScene[Any]) -> None:
    """Stops the driver behind a question about intents that rest, and ends the rest."""
    scene.world.network.watchers.append(_AmidLook(scene))


class _AmidLook:
    """Watcher that stops the driver behind one of its questions of committed offsets."""

    def __init__(self, scene: FeedScene[Any]) -> None:
        self._scene, dice = scene, scene.dice
        self._left, self._seconds = dice.randint(1, LOOKS_MAX), dice.choice([1.0, 3.0, 8.0])

    def written(self, process: Process, data: bytes) -> None:
        scene = self._scene
        driver = scene.feeding.drivers[-1]
        if scene.is_mended:
            scene.world.network.watchers.remove(self)
        elif process is driver and api_key(data) == OFFSET_FETCH and self._is_anything_old():
            self._left -= 1
            if not self._left:
                scene.world.network.watchers.remove(self)
                scene.tell(f"stop {driver.name} for {self._seconds} s amid a look")
                driver.stop()
                later(scene, self._seconds, driver.resume)
                scene.woken.set()

    def _is_anything_old(self) -> bool:
        """Returns True if the driver may find progress that it has to renew."""
        since = self._scene.resting_since
        old_seconds = UNRENEWED_PART * _retention(self._scene)
        return since is not None and self._scene.loop.time() - since > old_seconds

    def read(self, process: Process) -> None:
        """Sees nothing in answers."""


async def all_away(scene: FeedScene[Any]) -> None:
    await _all_away(scene)


async def memory_lost(scene: FeedScene[Any]) -> None:
    await _all_away(scene, forgets=True)


async def _all_away(scene: FeedScene[Any], *, forgets: bool = False) -> None:
    """Releases everything and ends the driver, until no intent is left; then a new one begins.

    Args:
        forgets: adoptions are not remembered either, as of a feed of an older version.
    """
    feeding, rest = scene.feeding, scene.checks.rest
    async with scene.lock:
        await _drained(scene)
        if _is_unsettled(scene):
            scene.tell("not everything is released: the driver stays")
            await _sleep_slowly(scene, 1.0)
        else:
            scene.tell(f"all rest{', and the memory is lost' if forgets else ''}")
            feeding.drivers[-1].kill()
            await feeding.leadership.close()
            rest.are_all_away = True
            await _sleep_slowly(scene, scene.dice.uniform(1.2, 2.0) * _retention(scene))
            if forgets:
                feeding.cluster.delete(adopted_topic(FEED))
            await _woken(scene, forgets=forgets)
            rest.are_all_away = False
    await scene.plan()


async def _woken(scene: FeedScene[Any], *, forgets: bool) -> None:
    """Has a new driver begin, and lets what it parks go on where it says."""
    feeding, rest = scene.feeding, scene.checks.rest
    before = {place: scene.checks.intents[place][-1].offset for place in scene.places}
    await feeding.lead()
    await scene.store_wakes()
    feeding.keep_looking()
    while True:
        found = await feeding.read()
        if len(found) == len(scene.places):
            break
        await asyncio.sleep(1.0)
    for place, intent in found.items():
        if intent.parked and intent.parked.kind is LossKind.INTENT_GONE:
            advice = ADVICE.search(str(intent.parked))
            offset = int(advice[1]) if advice else intent.offset
            if forgets:
                rest.sent_again |= {RecordPlace(*place, it) for it in range(offset, before[place])}
            scene.tell(f"{place.topic}-{place.partition} restarts at {offset}: {intent.parked}")
            await accept(scene, [place], restart_at=offset)
        elif forgets:
            rest.sent_again |= {RecordPlace(*place, it) for it in range(before[place])}


async def refuse_letters(scene: FeedScene[Any]) -> None:
    """Has the topic of dead letters take none for a while, mostly longer than commits are kept;
    then an operator mends it, and lets parked partitions go on."""
    topic = scene.feeding.cluster.topics[dead_letter_topic(FEED)]
    seconds = scene.dice.uniform(0.1, 2.0) * _retention(scene)
    scene.tell(f"no dead letters for {seconds:.0f} s")
    before = topic.partitions[0].max_message_bytes
    for partition in topic.partitions:
        partition.max_message_bytes = LETTERLESS_BYTES
    await _sleep_slowly(scene, seconds)
    for partition in topic.partitions:
        partition.max_message_bytes = before
    await accept_letters(scene)


async def accept_letters(scene: FeedScene[Any]) -> None:
    """Lets partitions go on that are parked for a dead letter."""
    parked = [
        place
        for place, found in scene.checks.intents.items()
        if (loss := found[-1].parked) and loss.kind is LossKind.LETTER_REFUSED
    ]
    if parked:
        scene.tell(f"{len(parked)} partitions go on")
        await accept(scene, parked)


async def accept(
    scene: FeedScene[Any], places: list[TopicPartition], restart_at: int | None = None
) -> None:
    """Lets partitions go on, as the operator's command does."""
    known = scene.feeding.known()
    try:
        await loss_acceptance.accept(
            scene.feeding.client, FEED, places, restart_at=restart_at, known=known
        )
    except (Answered, Unreachable) as error:
        scene.tell(f"accepting: {error}")
    finally:
        known.close()


def _retention(scene: FeedScene[Any]) -> float:
    driving = scene.feeding.driving
    assert driving is not None
    return driving.retention.offsets_seconds


async def _drained(scene: FeedScene[Any]) -> None:
    """Has all loaders release what they hold, and end."""
    await scene.feeding.stop()
    give_up_at = scene.loop.time() + DRAIN_SECONDS
    await until(lambda: not scene.running() or scene.loop.time() > give_up_at, 0.5)
    for loader in scene.feeding.loaders:
        loader.kill()


def _is_unsettled(scene: FeedScene[Any]) -> bool:
    """Returns True if an intent says more than an offset, so that nobody could begin without it."""
    last = (found[-1] if found else None for found in scene.checks.intents.values())
    return any(it is None or it.tables or it.parked for it in last)


async def _sleep_slowly(scene: FeedScene[Any], seconds: float) -> None:
    """Lets time pass with little load, until somebody wakes the scene."""
    for sender in scene.senders:
        sender.pace = SLOW_PACE
    scene.resting_since = scene.loop.time()
    scene.woken.clear()
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await scene.woken.wait()
    scene.resting_since = None
    for sender in scene.senders:
        sender.pace = PACE


FAULTS = (
    Fault("loaders away", loaders_away, 6),
    Fault("stop the driver amid a look", stop_driver_amid_look, 8),
    Fault("all away", all_away, 8),
    Fault("all away, and the memory is lost", memory_lost, 10),
    Fault("no dead letters", refuse_letters, 4),
)
KINDS = (*(it.name for it in FAULTS), "kill a loader", "kill a loader soon", "strike at an intent")
"""Names of the faults of a feed that rests."""


# -- mutations


class NeverLost(FeedAdoption):
    """Begins partitions without an intent anew."""

    async def _settle(
        self,
        missing: Mapping[TopicPartition, Any],
        counts: Mapping[str, int],
        is_first: bool,
        waits: list[str],
    ) -> dict[TopicPartition, Intent]:
        return dict(await self._begin(list(missing), missing, counts, is_first))


class AsksNoStore(FeedAdoption):
    """Takes what nobody remembers for new, whatever the store has."""

    def _is_asked_for(self, place: TopicPartition, partition: Any) -> bool:
        return False


class RenewsNothing(FeedAdoption):
    """Leaves intents that rest as they are."""

    async def _renew(self, known: Intents) -> None:
        pass


class RenewsUnread(FeedAdoption):
    """Renews intents as it has seen them, without reading them again."""

    async def _renew_of(self, transactional_id: str, due: Intents) -> None:
        free_id = unloaded_id(self.feed.name)
        try:
            holder = await FencedCommitter(self.cluster, transactional_id, TRANSACTION_MS).open()
            renewed = {place: as_renewed(it, free_id) for place, it in due.items()}
            await self._store.replace(holder, due, renewed)
        except Answered:
            pass


def silence_is_proof(stored: Stored) -> Stored:
    """Takes a replica that does not answer for one without rows."""
    return Stored(stored.next_offset) if stored.is_passing else stored


MUTATED: Mapping[
    tuple[int, str], tuple[Callable[..., FeedAdoption], Callable[[Stored], Stored]]
] = {
    (54, "a partition without an intent begins anew"): (NeverLost, as_it_is),
    (54, "the store is not asked for rows"): (AsksNoStore, as_it_is),
    (54, "silence of a replica is proof"): (FeedAdoption, silence_is_proof),
    (55, "what rests is not renewed"): (RenewsNothing, as_it_is),
    (55, "renewal does not read again"): (RenewsUnread, as_it_is),
}
"""Rules and names of mutations, with the driver's parts that break them."""

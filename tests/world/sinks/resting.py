"""Rest of a feed: loaders are away beside a driver, or all are, for longer than a cluster keeps
committed offsets and transactional ids.

Only courses with a driver that looks again and again deal this.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from aggregator.driver.feed_adoption import FeedAdoption, Intents, as_renewed
from aggregator.intents.intent import Intent
from aggregator.intents.stored import Stored
from aggregator.loader import loss_acceptance
from aggregator.loader.loader_assembly import MAKERS
from aggregator.loader.loss_acceptance import TRANSACTION_MS
from balancer.topic_partition import TopicPartition
from replicator.config.names import adopted_topic, dead_letter_topic, unloaded_id
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Answered
from replicator.kafka.client.fenced_committer import FencedCommitter
from replicator.kafka.client.loss import LossKind
from replicator.kafka.client.progress_expiry import UNRENEWED_PART
from tests.world.faults.fault import Fault
from tests.world.faults.strikes import api_key
from tests.world.network import Network
from tests.world.process import Process
from tests.world.sinks.feed_scene import FeedScene, until
from tests.world.sinks.letter_view import RecordPlace
from tests.world.sinks.loaded_feed import FEED, Driving, as_it_is
from tests.world.sinks.mutation import Mutation

ADD_OFFSETS_TO_TXN = 25
HELD_PART = 2 * UNRENEWED_PART
"""Part of the retention after which a driver takes who holds an intent for dead."""
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
    seconds = scene.dice.uniform(0.3, 2.5) * retention(scene)
    kills = scene.dice.random() < 0.6
    async with scene.lock:
        scene.tell(f"no loader for {seconds:.0f} s, {'killed' if kills else 'released'}")
        if kills:
            for loader in scene.running():
                loader.kill()
        else:
            await drained(scene)
        await sleep_slowly(scene, seconds)
    await scene.plan()


async def loaders_stand_still(scene: FeedScene[Any]) -> None:
    """Stops all loaders until the driver takes them for dead. It has looked at their intents, and
    stands still before it renews these, while the loaders go on."""
    driver, seconds = scene.feeding.drivers[-1], scene.dice.uniform(1.0, 5.0)
    async with scene.lock:
        stopped = scene.running()
        scene.tell(f"{len(stopped)} loaders stand still")
        for loader in stopped:
            loader.stop()
        looking = _AmidLook(scene.world.network, driver)
        await sleep_slowly(scene, HELD_PART * retention(scene))
        scene.world.network.watchers.append(looking)
        await until(lambda: driver.is_stopped or driver.has_ended, 0.05)
        scene.tell(f"{driver.name} stands still for {seconds:.1f} s, and the loaders go on")
        for loader in stopped:
            loader.resume()
        await asyncio.sleep(seconds)
        driver.resume()


class _AmidLook:
    """Watcher that stops a driver behind its look at all intents, before it renews some.

    In between it commits witnesses.
    """

    def __init__(self, network: Network, driver: Process) -> None:
        self._network, self._driver = network, driver

    def written(self, process: Process, data: bytes) -> None:
        if process is self._driver and api_key(data) == ADD_OFFSETS_TO_TXN:
            self._network.watchers.remove(self)
            process.stop()

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
        await drained(scene)
        if is_unsettled(scene):
            scene.tell("not everything is released: the driver stays")
            await sleep_slowly(scene, 1.0)
        else:
            is_killed = scene.dice.random() < 0.5
            scene.tell(
                f"all rest{', and the memory is lost' if forgets else ''}"
                f"{', and the driver has noted nothing' if is_killed else ''}"
            )
            await feeding.end_driver(is_killed=is_killed)
            rest.are_all_away = True
            await sleep_slowly(scene, scene.dice.uniform(1.2, 2.0) * retention(scene))
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
            rest.sent_again |= {RecordPlace(*place, it) for it in range(offset, before[place])}
            scene.tell(f"{place.topic}-{place.partition} restarts at {offset}: {intent.parked}")
            await accept(scene, [place], restart_at=offset)
        elif forgets:
            rest.sent_again |= {RecordPlace(*place, it) for it in range(before[place])}


async def refuse_letters(scene: FeedScene[Any]) -> None:
    """Has the topic of dead letters take none for a while, mostly longer than commits are kept;
    then an operator mends it, and lets parked partitions go on."""
    topic = scene.feeding.cluster.topics[dead_letter_topic(FEED)]
    seconds = scene.dice.uniform(0.1, 2.0) * retention(scene)
    scene.tell(f"no dead letters for {seconds:.0f} s")
    before = topic.partitions[0].max_message_bytes
    for partition in topic.partitions:
        partition.max_message_bytes = LETTERLESS_BYTES
    await sleep_slowly(scene, seconds)
    for partition in topic.partitions:
        partition.max_message_bytes = before
    await accept_letters(scene)


async def accept_letters(scene: FeedScene[Any], kind: LossKind = LossKind.LETTER_REFUSED) -> None:
    """Lets partitions go on that are parked for a dead letter, or for another kind of loss."""
    parked = [
        place
        for place, found in scene.checks.intents.items()
        if (loss := found[-1].parked) and loss.kind is kind
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


def retention(scene: FeedScene[Any]) -> float:
    driving = scene.feeding.driving
    assert driving is not None
    return driving.retention.offsets_seconds


async def drained(scene: FeedScene[Any]) -> None:
    """Has all loaders release what they hold, and end."""
    await scene.feeding.stop()
    give_up_at = scene.loop.time() + DRAIN_SECONDS
    await until(lambda: not scene.running() or scene.loop.time() > give_up_at, 0.5)
    for loader in scene.feeding.loaders:
        loader.kill()


def is_unsettled(scene: FeedScene[Any]) -> bool:
    """Returns True if an intent says more than an offset, so that nobody could begin without it."""
    last = (found[-1] if found else None for found in scene.checks.intents.values())
    return any(it is None or it.tables or it.parked for it in last)


async def sleep_slowly(scene: FeedScene[Any], seconds: float) -> None:
    """Lets time pass with little load."""
    for sender in scene.senders:
        sender.pace = SLOW_PACE
    await asyncio.sleep(seconds)
    for sender in scene.senders:
        sender.pace = PACE


FAULTS = (
    Fault("loaders away", loaders_away, 6),
    Fault("loaders stand still", loaders_stand_still, 6),
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
            await self._intent_store.replace(holder, due, renewed)
        except Answered:
            pass


def silence_is_proof(stored: Stored) -> Stored:
    """Takes a replica that does not answer for one without rows."""
    return Stored(stored.next_offset) if stored.is_passing else stored


Parts = tuple[Callable[..., FeedAdoption], Callable[[Stored], Stored]]
"""Adoption of a driver, and what it makes of a store's answer."""
BEGINNING: Mapping[str, Parts] = {
    "a partition without an intent begins anew": (NeverLost, as_it_is),
    "the store is not asked for rows": (AsksNoStore, as_it_is),
}
SILENT: Mapping[str, Parts] = {
    "silence of a replica is proof": (FeedAdoption, silence_is_proof),
}
RENEWING: Mapping[str, Parts] = {"what rests is not renewed": (RenewsNothing, as_it_is)}
READING: Mapping[str, Parts] = {"renewal does not read again": (RenewsUnread, as_it_is)}


def mutations(
    rule: int, broken: Mapping[str, Parts], course: Any, store: str = ""
) -> tuple[Mutation[Any], ...]:
    """Returns mutations of a course: drivers with parts that break a rule, by name.

    Args:
        store: begin of their names.
    """
    return tuple(
        Mutation(rule, f"{store}{name}", MAKERS, replace(course, driving=Driving(*parts)))
        for name, parts in broken.items()
    )

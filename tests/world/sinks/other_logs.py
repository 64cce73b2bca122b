"""Other logs of a feed's partitions: topics that are deleted and created again, logs that are cut
by unclean elections, and operators who accept what is lost.

Only courses with an operator deal this (`Course.accepting`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from aggregator.driver.adoption_memory import AdoptionMemory, Remembered
from aggregator.driver.feed_adoption import FeedAdoption
from aggregator.intents.intent import Intent
from aggregator.loader.acquisition import Acquisition
from aggregator.loader.loss_acceptance import Change
from aggregator.loader.produced import Produced
from balancer.topic_partition import TopicPartition
from replicator.kafka.client.loss import LossKind
from replicator.kafka.client.source_inspection import SourceFindings
from tests.world.faults.fault import Fault
from tests.world.faults.losses import BATCHES_LOST_MAX
from tests.world.kafka import log_losses
from tests.world.kafka.partition import NOBODY
from tests.world.sinks.feed_scene import FeedScene, until
from tests.world.sinks.resting import drained, is_unsettled, retention, sleep_slowly

LOADED_SECONDS = (2.0, 8.0)


async def accept_losses(scene: FeedScene[Any]) -> None:
    """Lets the partitions go on that are parked, or whose intent is gone while no driver runs."""
    checks, accepting = scene.checks, scene.course.accepting
    for place, found in checks.intents.items():
        is_gone = place in checks.rest.gone
        if not (is_gone or found[-1].parked):
            continue
        if is_gone and not scene.feeding.drivers[-1].is_dead:
            continue  # its driver tells what became of it
        await scene.feeding.client.refresh()
        intent = None if is_gone else found[-1]
        why = await accepting.accept(scene.feeding.client, scene.feeding.known(), place, intent)
        scene.tell(f"{place.topic}-{place.partition} {why}: {intent and intent.parked}")


async def cut_log(scene: FeedScene[Any]) -> None:
    """Has a replica lead that lacks the last records."""
    cut(scene)


async def cut_beside_dead(scene: FeedScene[Any]) -> None:
    """The same while all loaders are dead: only those that take over can notice it."""
    async with scene.lock:
        for loader in scene.running():
            loader.kill()
        cut(scene)
        await asyncio.sleep(scene.dice.uniform(0.0, 3.0))
    await scene.plan()


def cut(scene: FeedScene[Any]) -> None:
    """Has a replica lead that lacks the last records of a partition."""
    cluster, place = scene.feeding.cluster, scene.dice.choice(scene.places)
    partition = cluster.partition(*place)
    assert partition is not None
    leader = partition.decided.leader
    others = [it for it in partition.replicas if it != leader and cluster.is_connected(it)]
    if leader == NOBODY or not others:
        return
    node, log = scene.dice.choice(others), partition.logs[leader]
    ends = [it.base_offset for it in log.batches[-BATCHES_LOST_MAX:]]
    kept = min(scene.dice.choice(ends or [log.end]), partition.logs[node].end)
    scene.tell(f"{place.topic}-{place.partition} ended at {log.end}, is cut at {kept}")
    log_losses.elect_unclean(cluster, partition, node, kept)
    scene.checks.source.changed(place, kept)


async def recreate_topic(scene: FeedScene[Any]) -> None:
    """Deletes a topic and creates it again, beside loaders or while all of them are dead."""
    async with scene.lock:
        if scene.dice.random() < 0.5:
            for loader in scene.running():
                loader.kill()
        recreate(scene, scene.dice.choice(scene.places).topic)
        await asyncio.sleep(scene.dice.uniform(0.0, 3.0))
    if scene.dice.random() < 0.7:
        await scene.plan()


def recreate(scene: FeedScene[Any], topic: str) -> None:
    """Deletes a topic, and creates it again."""
    scene.tell(f"{topic} is deleted, and created again")
    log_losses.recreate(scene.feeding.cluster, topic)
    for place in scene.places:
        if place.topic == topic:
            scene.checks.source.changed(place, 0)


async def accepted_without_driver(scene: FeedScene[Any]) -> None:
    """A topic is created again and its loss accepted while no driver runs; its new log is loaded,
    and then all rest until intents are gone."""
    feeding, checks = scene.feeding, scene.checks
    async with scene.lock:
        scene.tell("the driver is dead")
        feeding.drivers[-1].kill()
        recreate(scene, scene.dice.choice(scene.places).topic)
        await asyncio.sleep(scene.dice.uniform(1.0, 3.0))
        await accept_losses(scene)
        await asyncio.sleep(scene.dice.uniform(*LOADED_SECONDS))
        await drained(scene)
        if is_unsettled(scene) or checks.rest.gone:
            scene.tell("not everything is released: nobody rests")
        else:
            scene.tell("all rest")
            checks.rest.are_all_away = True
            await sleep_slowly(scene, scene.dice.uniform(1.2, 2.0) * retention(scene))
        await feeding.lead()
        feeding.keep_looking()
        await until(lambda: not checks.rest.gone, 1.0)
        checks.rest.are_all_away = False
        await accept_losses(scene)
    await scene.plan()


CUTS = (Fault("cut a log", cut_log, 3), Fault("cut a log beside dead loaders", cut_beside_dead, 5))
RECREATIONS = (
    Fault("recreate the topic", recreate_topic, 4),
    Fault("accept without a driver", accepted_without_driver, 3),
)
ACCEPTANCES = (Fault("accept losses", accept_losses, 8),)
FAULTS = (*CUTS, *RECREATIONS, *ACCEPTANCES)


# -- mutations


def keeps_name(_: TopicPartition, intent: Intent) -> Intent:
    """Returns an intent of a cut log as if nothing behind the cut had been sealed."""
    loss = intent.parked
    if loss is None or loss.kind is not LossKind.SOURCE_TRUNCATED:
        return intent
    tables = {
        name: replace(each, end=min(each.end, loss.begin))
        for name, each in intent.tables.items()
        if each.begin < loss.begin
    }
    return replace(intent, offset=min(intent.offset, loss.begin), tables=tables)


def forgets_first_log(_: TopicPartition, intent: Intent) -> Intent:
    """Returns an intent of a log that was cut as if it had not been cut before."""
    if intent.parked is None or intent.parked.kind is not LossKind.SOURCE_TRUNCATED:
        return intent
    return replace(intent, log_begin=0, former=0, older=())


def forgets_topic(_: TopicPartition, intent: Intent) -> Intent:
    """Returns an intent as if its topic were that of today."""
    return replace(intent, topic_id=None)


class ComparesOffset(Acquisition):
    """Compares a log that was cut with the committed offset only."""

    async def _looked(self, intents: Any) -> dict[Any, SourceFindings]:
        before = {place: replace(each, committed_ms=0) for place, each in intents.items()}
        return await super()._looked(before)


class ForgetfulMemory(AdoptionMemory):
    """Memory that does not know of logs."""

    def of(self, place: TopicPartition) -> Remembered | None:
        noted = super().of(place)
        return noted and replace(noted, incarnation=0, log_begin=0, former=0)


class ForgetsLogs(FeedAdoption):
    """Adoption by a memory that does not know of logs."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.memory.__class__ = ForgetfulMemory


class NotesNothing(AdoptionMemory):
    """Memory that is not told of acceptances."""

    def noting(self, intents: Mapping[TopicPartition, Intent], now_ms: int) -> list[Produced]:
        return []


CHANGES: dict[str, Change] = {
    "a cut log keeps its name": keeps_name,
    "a log that is cut twice forgets its first name": forgets_first_log,
    "a topic that comes back keeps its name": forgets_topic,
}

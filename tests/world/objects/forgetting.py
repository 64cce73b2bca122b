"""Forgetting: the bucket drops objects that are passed, and operators have their manifests removed
by the product's command, which is killed on its way (63)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aggregator.intents.intent import Intent
from aggregator.loader.intent_effects import EffectProducer
from aggregator.loader.object_forgetting import Gone, ObjectForgetting
from aggregator.loader.object_records import told_place
from aggregator.loader.object_sink import address_of
from aggregator.loader.produced import Produced
from aggregator.objects.forgotten import Forgotten, Log, decoded
from aggregator.objects.told_object import ToldObject
from aggregator.objects.told_objects import ToldObjects
from aggregator.s3.object_store import Found, Listed, ObjectStore
from balancer.topic_partition import TopicPartition
from replicator.config.names import objects_topic
from replicator.config.object_feed import ObjectFeed
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Answered, Cluster, Fenced, ProducerStateLost
from replicator.kafka.client.fenced_committer import FencedCommitter
from tests.replicator.batches.source_batches import decoded as records_of
from tests.world.checks.log_reading import LogReading
from tests.world.faults.fault import Fault
from tests.world.objects.client import WorldS3
from tests.world.objects.object_feeding import PREFIX
from tests.world.process import Process
from tests.world.sinks.loaded_feed import CLUSTER, FEED
from tests.world.sinks.loader_faults import later

if TYPE_CHECKING:
    from tests.world.objects.scene import Scene

TROUBLES = (Answered, Fenced, ProducerStateLost, TimeoutError, Unreachable)
NAME = "forget objects"
KILLED_SHARE = 0.4
"""Share of the runs that are killed."""


class BucketNow(ObjectStore):
    """Store that is asked without requests: a listing and a HEAD say what is there."""

    def __init__(self, scene: Scene, feed: ObjectFeed) -> None:
        super().__init__(address_of(feed), lambda _: WorldS3(scene.server))
        self._objects = scene.server.objects

    def objects(self, prefix: str) -> Iterator[Listed]:
        return (Listed(key, 0.0) for key in sorted(self._objects) if key.startswith(prefix))

    def head(self, key: str) -> Found | None:
        if key in self._objects:
            raise AssertionError(f"{key} is listed, and asked for")
        return None


@dataclass(eq=False, kw_only=True)
class Forgetting(ObjectForgetting):
    """Command that reads what is told from the log itself."""

    scene: Any

    def _told(self) -> ToldObjects:
        found = ToldObjects()
        for partition in self.scene.feeding.cluster.topics[objects_topic(FEED)].partitions:
            for batch in LogReading(partition, is_stable=True).batches():
                for record in records_of(batch.data) if not batch.is_marker else ():
                    found.take(decoded(record.key or b"", record.value))
        return found


async def forget(scene: Scene) -> None:
    """Drops some of the oldest objects of some partitions, and removes the manifests of what is not
    there; some runs are killed."""
    dice = scene.dice
    some = dice.sample(scene.places, dice.randint(1, len(scene.places)))
    share = dice.choice([0.3, 0.7, 1.0])
    await _dropped(scene, some, share, is_killed=dice.random() < KILLED_SHARE)


async def _dropped(
    scene: Scene, some: Sequence[TopicPartition], share: float, *, is_killed: bool
) -> None:
    checks = scene.checks
    assert checks is not None
    offsets = {place: checks.intents[place][-1].offset for place in some}
    passed = sorted(
        (it.begin, key)
        for key, it in checks.told.items()
        if key in scene.server.objects
        and it.end <= offsets.get(TopicPartition(it.topic, it.partition), 0)
    )
    count = round(share * len(passed))
    scene.tell(f"the bucket drops {count} objects, and a run forgets them")
    for _, key in passed[:count]:
        del scene.server.objects[key]
    process = Process("forget").start(_told(scene))
    if is_killed:
        later(scene, scene.dice.uniform(0.0, 0.1), process.kill)
    assert process.main is not None
    await asyncio.wait({process.main})


async def _told(scene: Scene) -> None:
    feeding, feed = scene.feeding, scene.feeding.feed
    assert isinstance(feed, ObjectFeed)
    forgetting = scene.course.forgetting(
        scene=scene,
        feed=FEED,
        name=CLUSTER,
        settings=feeding.appliance.cluster(CLUSTER),
        store=BucketNow(scene, feed),
        prefix=f"{PREFIX}/",
        topic=None,
        partition=None,
        told_before_ms=time.time_ns() // 1_000_000,
        timeout_seconds=10.0,
    )
    try:
        gone = await forgetting.run(is_confirmed=True)
    except TROUBLES as trouble:
        scene.tell(f"forgetting: {type(trouble).__name__}: {trouble}")
    except Exception as error:
        scene.loop.fail(error)
    else:
        scene.tell(f"{sum(map(len, gone.values()))} objects are forgotten")


@dataclass(slots=True)
class ForgottenView:
    """Forgotten objects as checks see them."""

    of: dict[Log, Forgotten] = field(default_factory=dict)

    def flaw(self, told: ToldObject | None, is_there: bool, intent: Intent | None) -> str:
        """Returns what is wrong with the removal of a manifest; empty: nothing.

        Args:
            told: that was told under its key.
            is_there: the bucket has the object.
            intent: of its partition, as committed last.
        """
        if told is None:
            return "was never told"
        forgotten = self.of.get(Log.of(told), Forgotten(Log.of(told)))
        covered = any(it.begin <= told.begin and told.end <= it.end for it in forgotten.ranges)
        if not covered:
            return "is removed, and its offsets are not known as forgotten"
        if is_there and not told.is_empty:
            return "is removed, and the bucket has it"
        limit = intent.offset if intent else told.end
        if intent and intent.told:
            limit = min(limit, intent.told.base)
        return "" if told.end <= limit else f"is removed, and may be a marker of {intent}"


FORGETS = (Fault(NAME, forget, 6),)


# -- mutations


class TellsNobody(Forgetting):
    """Command that removes manifests, and does not say which offsets they had."""

    async def forget(
        self, cluster: Cluster, committer: FencedCommitter, told: ToldObjects, gone: Gone
    ) -> Gone:
        producer, now_ms = EffectProducer(cluster), time.time_ns() // 1_000_000
        for log, objects in gone.items():
            place = told_place(FEED, TopicPartition(log.topic, log.partition))
            records = [Produced(*place, now_ms, each.key.encode(), None) for each in objects]
            async with asyncio.timeout(self.timeout_seconds):
                await committer.write(producer.effects(committer, records))
        return gone

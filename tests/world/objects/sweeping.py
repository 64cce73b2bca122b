"""Operators who sweep uploads while loaders work, by the product's code."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from aggregator.intents.intent import Intent
from aggregator.intents.intent_store import IntentStore
from aggregator.loader.object_sink import address_of
from aggregator.objects.object_name import parsed
from aggregator.s3.answers import StoreProblem
from aggregator.s3.object_store import ObjectStore, Upload
from aggregator.s3.upload_sweep import ObjectPlace
from balancer.topic_partition import TopicPartition
from replicator.config.object_feed import ObjectFeed
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Answered, Cluster
from tests.world.blocking import in_thread, wait
from tests.world.checks.wrong import Wrong
from tests.world.faults.fault import Fault
from tests.world.halting import Halts
from tests.world.objects.client import WorldS3
from tests.world.objects.object_feeding import PREFIX
from tests.world.objects.server import COMPLETE, PART, Armed
from tests.world.process import Process
from tests.world.sinks.loaded_feed import CLUSTER, FEED
from tests.world.sinks.loader_faults import later
from tui.orders.upload_sweeping import abort_stale

if TYPE_CHECKING:
    from tests.world.objects.scene import Scene

OLDER_SECONDS = (0.0, 0.1, 2.0)
"""Ages below which uploads are left."""
HALT_SHARE = 0.4
"""Share of the steps of a sweep before which it stands still."""
FOREIGN = (f"{PREFIX}/notes/part-0", f"{PREFIX}/payments/p=0/payments+0+0000000000.json")
"""Keys below the prefix that are no names of the feed's objects."""


class CheckedStore(ObjectStore):
    """Store of a sweep. Whatever it must not abort ends the history.

    - An object that an intent named when the uploads were listed, and still names.
    - An upload whose name is not the feed's.
    """

    def __init__(self, scene: Scene, feed: ObjectFeed, halts: Halts) -> None:
        super().__init__(address_of(feed), lambda _: WorldS3(scene.server))
        self._scene, self._halts = scene, halts
        self._named: set[ObjectPlace] = set()

    def uploads(self, prefix: str) -> Iterator[Upload]:
        return iter(self._halts.before(self._listed)(prefix))

    def _listed(self, prefix: str) -> list[Upload]:
        found = [*super().uploads(prefix)]
        self._named = self._named_now()
        return found

    def abort(self, key: str, upload_id: str) -> None:
        name = parsed(key, PREFIX)
        if key in FOREIGN or name is None:
            self._scene.loop.fail(Wrong(f"{key} is aborted, and is not the feed's (52)"))
        elif ObjectPlace.of(name) in self._named & self._named_now():
            self._scene.loop.fail(Wrong(f"{key} is aborted, and an intent names it (52)"))
        super().abort(key, upload_id)

    def _named_now(self) -> set[ObjectPlace]:
        assert self._scene.checks is not None
        return {
            each
            for place, intents in self._scene.checks.intents.items()
            for each in (ObjectPlace.named(*place, intents[-1]) if intents else ())
        }


async def sweep_amid(scene: Scene) -> None:
    """Starts a sweep just when an object is about to be sealed, or to be completed; some are killed
    on their way."""
    older_seconds = scene.dice.choice(OLDER_SECONDS)
    operation, kills = scene.dice.choice([PART, COMPLETE]), scene.dice.random() < 0.2
    seconds = scene.dice.uniform(0.0, 0.1)
    if scene.dice.random() < 0.3:
        await scene.server.begin(scene.dice.choice(FOREIGN), {})

    def begin(key: str, _: Process | None) -> None:
        scene.tell(f"a sweep of uploads older than {older_seconds} s begins at {operation} {key}")
        process = Process("sweep").start(_told(scene, older_seconds))
        if kills:
            later(scene, seconds, process.kill)

    scene.server.armed = Armed(operation, False, begin)


async def _told(scene: Scene, older_seconds: float) -> None:
    try:
        count = await in_thread(_swept, scene, older_seconds)
    except (Answered, StoreProblem, Unreachable) as error:
        scene.tell(f"sweep: {error}")
    else:
        scene.tell(f"{count} uploads were judged")


def _swept(scene: Scene, older_seconds: float) -> int:
    feed = scene.feeding.feed
    assert isinstance(feed, ObjectFeed)
    halts = Halts(scene.dice, HALT_SHARE, scene.course.seconds)
    store = CheckedStore(scene, feed, halts)
    found = scene.course.sweep(
        store,
        feed.prefix_of(CLUSTER),
        scene.places,
        halts.before(lambda: wait(lambda: _intents(scene))),
        time.time() - older_seconds,
    ).judged()
    halts.before(abort_stale)(store, found)
    return len(found)


async def _intents(scene: Scene) -> Mapping[TopicPartition, Intent]:
    feeding = scene.feeding
    cluster = Cluster("sweep", feeding.appliance.cluster(CLUSTER))
    try:
        async with asyncio.timeout(5.0):
            await cluster.open({place.topic for place in scene.places})
            return await IntentStore(cluster, FEED).read(scene.places)
    except TimeoutError as error:
        raise Unreachable(str(error)) from error
    finally:
        await cluster.close()


SWEEPING = (Fault("sweep amid an object", sweep_amid, 8),)

"""Operators who have objects overwrite what has their names, by the product's code."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

from aggregator.loader.object_layout import ObjectLayout
from aggregator.loader.object_sink import address_of
from aggregator.loader.reports import FeedPartition
from aggregator.s3.answers import StoreProblem
from aggregator.s3.object_store import ObjectStore
from aggregator.s3.object_verdict import Verdict, verdict
from balancer.topic_partition import TopicPartition
from replicator.config.object_feed import ObjectFeed
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Answered, Cluster, Fenced
from tests.world.blocking import in_thread
from tests.world.objects.client import WorldS3
from tests.world.objects.server import COMPLETE, PART, Armed
from tests.world.objects.step_checks import FOREIGN
from tests.world.process import Process
from tests.world.sinks.loaded_feed import CLUSTER, FEED
from tests.world.sinks.loader_faults import later
from tui.facts.feed_objects import TakenObject
from tui.orders.object_overwriting import let_go_on, taken_objects

if TYPE_CHECKING:
    from tests.world.objects.scene import Scene

COMMAND_SECONDS = 20.0
LOOK_SECONDS = (0.3, 1.5)
NOW = "now"


async def keep_overwriting(scene: Scene) -> None:
    """Looks after parked partitions, again and again."""
    dice = random.Random(f"{scene.seed} overwriting")
    while not scene.is_mended:
        await asyncio.sleep(dice.uniform(*LOOK_SECONDS))
        await _overwrite(scene, dice)


async def _overwrite(scene: Scene, dice: random.Random) -> None:
    """Lets parked partitions overwrite what is there now. In some cases somebody writes another
    content before they do, or just as they do."""
    assert scene.checks is not None
    intents = {
        FeedPartition(str(CLUSTER), *place): found[-1]
        for place, found in scene.checks.intents.items()
        if found and found[-1].parked
    }
    looking = Process("overwriting")
    looking.start(in_thread(lambda: [*taken_objects(*_store_and_layout(scene), intents)]))
    assert looking.main is not None
    try:
        taken: list[TakenObject] = await looking.main
    except StoreProblem as problem:
        scene.tell(f"overwriting: {problem}")
        return
    wanted = {}
    for each in taken:
        if each.there and verdict(each.there, each.manifest) is Verdict.OTHER:
            scene.tell(f"an operator is shown {each.key}: {each.there}")
            scene.checks.shown.setdefault(each.key, set()).add(each.there.etag)
            wanted[TopicPartition(each.partition.topic, each.partition.partition)] = each
    keys = [each.key for each in wanted.values()]
    when = dice.choice([None, NOW, PART, PART, COMPLETE, COMPLETE])
    if when == NOW:
        for key in keys:
            _write_again(scene, key)
    elif when and keys:
        _write_again_at(scene, when, keys)
    if wanted:
        command = Process("overwriting").start(_let_go_on(scene, wanted))
        if dice.random() < 0.2:
            later(scene, dice.uniform(0.0, 0.1), command.kill)


def _store_and_layout(scene: Scene) -> tuple[ObjectStore, ObjectLayout]:
    feed = scene.feeding.feed
    assert isinstance(feed, ObjectFeed)
    store = ObjectStore(address_of(feed), lambda _: WorldS3(scene.server))
    return store, ObjectLayout(feed, str(CLUSTER))


def _write_again_at(scene: Scene, operation: str, keys: Sequence[str]) -> None:
    """Lets somebody replace one of these objects as a request about it arrives."""

    def act(key: str, _: Process | None) -> None:
        if key in keys:
            _write_again(scene, key)
        else:
            _write_again_at(scene, operation, keys)

    scene.server.armed = Armed(operation, False, act)


def _write_again(scene: Scene, key: str) -> None:
    """Lets somebody replace an object of somebody else."""
    found = scene.server.objects.get(key)
    if found and found.data.startswith(FOREIGN):
        scene.tell(f"somebody writes {key} again")
        scene.server.write(key, found.data + b" again", {})


async def _let_go_on(scene: Scene, wanted: dict[TopicPartition, TakenObject]) -> None:
    cluster = Cluster("overwriting", scene.feeding.appliance.cluster(CLUSTER))
    try:
        result = await let_go_on(cluster, FEED, wanted, COMMAND_SECONDS)
    except (Answered, Fenced, TimeoutError, Unreachable) as error:
        scene.tell(f"overwriting: {error}")
    else:
        scene.tell(f"overwriting: {[*result.continued]} go on, {result.left}")

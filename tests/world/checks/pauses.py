"""Check of a paused stream, once nothing fails any more: it rests while the others are carried."""

from __future__ import annotations

import asyncio

from balancer.topic_partition import TopicPartition
from replicator.orders.order_records import Pause, Stream, key_of
from tests.world.checks.ends import all_values, committed_values
from tests.world.checks.wrong import Wrong
from tests.world.mirror.mirroring import ROUTE
from tests.world.mirror.scene import Scene

DRAIN_SECONDS = 30.0
"""Time within which everything that was under way is carried, and nothing else of the stream."""
REST_SECONDS = 8.0
RECORDS = 20
NAME = "a-rest"
"""Sorts before other streams, so the topic belongs to it whatever they say."""


async def paused_stream_rests(scene: Scene) -> None:
    """Raises Wrong if a paused stream is carried, or another one is not.

    In the end no partition is paused.
    """
    mirroring = scene.mirroring
    topic = scene.dice.choice(scene.course.topics)
    stream = Stream(
        route=ROUTE.key, at_ms=0, who="operator", name=NAME, topics=(topic,), first_carrier=9000
    )
    scene.tell(f"{topic} rests")
    await mirroring.order([stream.model_copy(update={"is_paused": True})])
    await _resume_others(scene)
    await asyncio.sleep(DRAIN_SECONDS)
    before = {place: _count(scene, place) for place in scene.places}
    for sender in scene.senders:
        await sender.send(RECORDS)
    await asyncio.sleep(REST_SECONDS)
    for place in scene.places:
        about = f"{place.topic}-{place.partition}"
        if place.topic == topic and _count(scene, place) != before[place]:
            raise Wrong(f"{about} is carried, and its stream is paused")
        if place.topic != topic and not _has_arrived(scene, place):
            raise Wrong(f"{about} is not carried while another stream is paused")
    scene.tell(f"{topic} goes on")
    await mirroring.order([stream])


async def _resume_others(scene: Scene) -> None:
    """Lets all else that operators have paused go on."""
    for name, value in scene.mirroring.standing().streams.items():
        if value["is_paused"] and name != NAME:
            await scene.mirroring.order([Stream.model_validate({**value, "is_paused": False})])
    for value in scene.mirroring.standing().records.values():
        if value["kind"] == "pause":
            await scene.mirroring.order(tombstones=[key_of(Pause.model_validate(value))])


def _count(scene: Scene, place: TopicPartition) -> int:
    return len(all_values(scene.mirroring.target, place))


def _has_arrived(scene: Scene, place: TopicPartition) -> bool:
    sent = committed_values(scene.mirroring.source, place)
    return set(sent) <= set(all_values(scene.mirroring.target, place))

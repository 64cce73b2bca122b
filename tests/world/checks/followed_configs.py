"""Checks of configs that a target's topic follows, and of the records that they keep.

- A value that operators have set on the target stays.
- A lower one is set once all is mirrored that the sources had when they agreed on it.
- The target never keeps or takes less than a source, at the moment at which it is changed.
- It refuses nothing that a source has.
- At the end it keeps the records that the source keeps, and has the configs that sources and
  operators want.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from balancer.topic_partition import TopicPartition
from replicator.kafka.admin.topic import policies
from tests.world.checks import ends
from tests.world.checks.ends import all_values, committed_records, source_records
from tests.world.checks.wrong import Wrong
from tests.world.kafka.kafka_cluster import KafkaCluster
from tests.world.mirror.config_changes import WAITING, keeps_less, size, visible
from tests.world.mirror.scene import Scene

FOLLOWED_SECONDS = 30.0
"""Bound for the target to have what is wanted, once nobody changes or kills anything."""
SENT = 3
Kept = dict[TopicPartition, set[bytes]]
"""Values of records by partition."""
KEPT_SECONDS = 3.0
"""Time in which a retention of a second deletes what it may."""


class ConfigChecks:
    """Checks of each change of the target's configs that is not an operator's."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        scene.mirroring.target.on_altered.append(self._changed)

    def _changed(
        self,
        target: KafkaCluster,
        topic: str,
        changes: Mapping[str, str | None],
        answer: str | None,
    ) -> None:
        configs = self._scene.configs
        assert configs is not None
        if configs.is_changing:
            return
        self._scene.tell(f"{target.name} {topic} gets {dict(changes)}{answer and ': ' + answer}")
        if answer:
            self._wrong(f"the target refuses {dict(changes)}: {answer}")
        for name, value in changes.items():
            if value is None or name not in (*WAITING, *configs.ends):
                continue
            if name in configs.by_hand:
                self._wrong(f"{name}={configs.by_hand[name]} was set by hand, and becomes {value}")
            before = configs.value(target, name)
            if name in WAITING and keeps_less(name, before, value):
                if name == "cleanup.policy" and "compact" in policies(before) - policies(value):
                    continue  # unread records may have no key
                self._lowered(name, before, value)
            if name == "retention.ms":
                for each in configs.sources:
                    kept = configs.value(each, name)
                    if size(value) < size(kept):
                        self._wrong(f"{name} becomes {value}, and {each.name} has {kept}")

    def _lowered(self, name: str, before: str, value: str) -> None:
        configs = self._scene.configs
        assert configs is not None
        for place in self._scene.places:
            end = configs.ends.get(name, {}).get(place, 0)
            landed = set(all_values(self._scene.mirroring.target, place))
            sent = source_records(self._scene, place)
            unread = [it for offset, it in sent if offset < end and it not in landed]
            if unread:
                self._wrong(
                    f"{name} is lowered from {before} to {value}, and {len(unread)} records of "
                    f"{place.topic}-{place.partition} are not mirrored that the source had"
                )

    def _wrong(self, text: str) -> None:
        self._scene.loop.fail(Wrong(text))


async def sources_are_followed(scene: Scene) -> None:
    """Raises Wrong unless the target keeps what the source keeps, and has what is wanted."""
    configs = scene.configs
    assert configs is not None
    await until_followed(scene, FOLLOWED_SECONDS)
    sent: Kept = {}
    for sender in scene.senders:
        count = len(sender.acknowledged)
        await sender.send(SENT)
        sent[sender.place] = {*sender.acknowledged[count:]}
    give_up_at = scene.loop.time() + FOLLOWED_SECONDS
    while differing := ends.differences(scene):
        if scene.loop.time() > give_up_at:
            raise Wrong("; ".join(differing))
        await asyncio.sleep(0.5)
    await asyncio.sleep(KEPT_SECONDS)
    check_kept(scene, sent)
    if unlike := configs.unlike():
        raise Wrong("; ".join(unlike))


async def until_followed(scene: Scene, seconds: float) -> None:
    """Waits until the target has the configs that are wanted, for some time."""
    configs, give_up_at = scene.configs, scene.loop.time() + seconds
    assert configs is not None
    while configs.unlike():
        if scene.loop.time() > give_up_at:
            return
        await asyncio.sleep(0.5)


def kept_at_both(scene: Scene) -> Kept:
    """Returns the records that both ends show now."""
    return {
        place: {*_kept(scene.mirroring.source, place)} & {*_kept(scene.mirroring.target, place)}
        for place in scene.places
    }


def check_kept(scene: Scene, known: Kept) -> None:
    """Raises Wrong if the target has deleted some of these records that the source still has."""
    assert scene.configs is not None
    for place, values in known.items():
        found = {*_kept(scene.mirroring.target, place)}
        missing = [
            it for it in _kept(scene.mirroring.source, place) if it in values and it not in found
        ]
        if missing:
            raise Wrong(
                f"{place.topic}-{place.partition}: the source keeps {missing[:3]}, and the target "
                f"has deleted them: {scene.configs.unlike()}"
            )


def _kept(cluster: KafkaCluster, place: TopicPartition) -> list[bytes]:
    partition = cluster.partition(*place)
    assert partition is not None
    return [value for _, value in committed_records(visible(partition))]

"""Mutations of what loaders know of objects in many folders (38, 39)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from aggregator.intents.intent import Intent
from aggregator.loader import told_reading
from aggregator.loader.acquisition import Acquired, Acquisition
from aggregator.loader.held_partition import HeldPartition
from aggregator.loader.intent_committer import IntentCommitter
from aggregator.loader.loader_assembly import Makers
from aggregator.loader.object_forming import ObjectForming
from aggregator.loader.produced import Produced
from aggregator.s3.open_object import OpenObject
from balancer.topic_partition import TopicPartition
from replicator.kafka.client.cluster import Cluster
from tests.world.objects.scene import CLOCKS, EPOCHS, FOLDERS
from tests.world.sinks.mutation import Mutation


async def first_markers(
    cluster: Cluster, feed: str, intents: Mapping[TopicPartition, Intent]
) -> dict[TopicPartition, Intent]:
    """Returns intents with the markers that are found but for the last told, whatever their count
    and digest."""
    found = await told_reading.with_markers(cluster, feed, intents)
    for place, intent in found.items():
        told = intent.told
        markers = dict(told.markers or {}) if told else {}
        if told and markers:
            markers.pop(max(markers, key=lambda name: markers[name].told_at or 0))
            found[place] = replace(intent, told=replace(told, markers=markers))
    return found


class TellsAfter(IntentCommitter):
    """Commits an intent before the objects that it passes are told of."""

    async def commit(
        self,
        partition: HeldPartition,
        letters: Sequence[Produced] = (),
        told: Sequence[Produced] = (),
    ) -> None:
        await super().commit(partition, letters)
        if told:
            await super().commit(partition, told=told)


class ForgetsReadTimes(Acquisition):
    """Forgets when the records of open objects were read first."""

    async def acquire(self, partitions: Collection[TopicPartition]) -> Acquired:
        acquired = await super().acquire(partitions)
        for place, (intent, epoch) in acquired.taken.items():
            acquired.taken[place] = replace(intent, read_times=()), epoch
        return acquired


class BelievesClocks(Acquisition):
    """Takes read times as they are, by whichever clock."""

    def _own(self, intent: Intent) -> Intent:
        return replace(super()._own(intent), read_times=intent.read_times)


def _one_name(
    opened: Callable[..., OpenObject], place: TopicPartition, _: str, *more: int
) -> OpenObject:
    """Returns an object whose name is that of another folder."""
    return opened(place, "city=Rio", *more)


def _forming(*parts: Any) -> ObjectForming:
    assignment, partitions, intents, store, opened, *others = parts
    return ObjectForming(
        assignment, partitions, intents, store, partial(_one_name, opened), *others
    )


OF_FOLDERS = (
    Mutation(
        39,
        "told markers that were not read to the end are believed",
        Makers(recall=first_markers),
        FOLDERS,
    ),
    Mutation(
        48,
        "an intent counts objects that are told of later",
        Makers(intent_committer=TellsAfter),
        FOLDERS,
    ),
    Mutation(
        48, "all folders share the names of objects", Makers(object_forming=_forming), FOLDERS
    ),
)
OF_EPOCHS = (
    Mutation(60, "read times are forgotten", Makers(acquisition=ForgetsReadTimes), EPOCHS),
)
OF_CLOCKS = (
    Mutation(60, "clocks of predecessors are believed", Makers(acquisition=BelievesClocks), CLOCKS),
)

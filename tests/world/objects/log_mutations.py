"""Mutations of what tells the logs of a feed into objects apart (56)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

from aggregator.intents.intent import Intent
from aggregator.intents.table_range import Manifest
from aggregator.loader.acquisition import Acquired, Acquisition
from aggregator.loader.loader_assembly import MAKERS, Makers
from aggregator.loader.object_forming import ObjectForming
from aggregator.s3.open_object import OpenObject
from balancer.topic_partition import TopicPartition
from tests.world.objects import losses
from tests.world.objects.scene import Course
from tests.world.objects.server import StoreKind
from tests.world.sinks import other_logs
from tests.world.sinks.accepting import Accepting
from tests.world.sinks.loaded_feed import Driving
from tests.world.sinks.mutation import Mutation

CUT = Course(
    partitions=2,
    loaders=2,
    seconds=30.0,
    fault_seconds=1.0,
    by_log=False,
    age_seconds=3.0,
    only=(
        *(it.name for it in (*other_logs.CUTS, *other_logs.ACCEPTANCES)),
        *("strike at an intent", "strike at a request", "kill a loader soon"),
        *("preferred election", losses.SEALED.name),
    ),
    accepting=Accepting(),
)
"""Course of logs that lose their last records, which may be in objects."""
RECREATED = Course(
    topics=("orders", "clicks"),
    partitions=1,
    loaders=2,
    brokers=1,
    seconds=80.0,
    fault_seconds=4.0,
    kind=StoreKind(),
    by_log=False,
    age_seconds=3.0,
    only=(
        *(it.name for it in (*other_logs.RECREATIONS, *other_logs.ACCEPTANCES)),
        *("strike at an intent", "strike at a request", "kill a loader soon"),
    ),
    driving=Driving(),
    accepting=Accepting(),
)
"""Course of topics that are created again, also while no driver runs."""


def _of_first_log(
    opened: Callable[..., OpenObject], place: TopicPartition, folder: str, begin: int, _: int
) -> OpenObject:
    """Returns an object whose name is that of the first log's."""
    return opened(place, folder, begin, 0)


def _forming(*parts: Any) -> ObjectForming:
    assignment, partitions, intents, store, opened, *others = parts
    return ObjectForming(
        assignment, partitions, intents, store, partial(_of_first_log, opened), *others
    )


def _changing(name: str, course: Course, **parts: Any) -> Mutation[Course]:
    """Returns the mutation of an operator's command."""
    accepting = Accepting(other_logs.CHANGES[name], **parts)
    return Mutation(56, f"objects: {name}", MAKERS, replace(course, accepting=accepting))


def forgets_read(_: TopicPartition, intent: Intent) -> Intent:
    """Returns an intent as if nobody knew what was read of the log."""
    return replace(intent, leader_epoch=-1)


class ForgetsObjects(Acquisition):
    """Takes what losses have left of sealed objects for all that was sealed."""

    async def acquire(self, partitions: Collection[TopicPartition]) -> Acquired:
        acquired = await super().acquire(partitions)
        for place, (intent, epoch) in acquired.taken.items():
            left = {
                name: replace(each, before=0, behind=0) if isinstance(each, Manifest) else each
                for name, each in intent.tables.items()
            }
            acquired.taken[place] = replace(intent, tables=MappingProxyType(left)), epoch
        return acquired


OF_CUT = (
    _changing("a cut log keeps its name", CUT),
    Mutation(
        56,
        "objects: a log that is cut again is not looked at",
        MAKERS,
        replace(CUT, accepting=Accepting(forgets_read)),
    ),
    Mutation(
        56,
        "what a loss leaves of an object is another one",
        Makers(acquisition=ForgetsObjects),
        CUT,
    ),
)
OF_RECREATED = (
    _changing("a topic that comes back keeps its name", RECREATED, asks_store=False),
    Mutation(
        56, "names of objects are without the log", Makers(object_forming=_forming), RECREATED
    ),
    Mutation(
        56,
        "objects: the memory knows of no logs",
        MAKERS,
        replace(RECREATED, driving=Driving(other_logs.ForgetsLogs)),
    ),
    Mutation(
        56,
        "objects: acceptances are not noted",
        MAKERS,
        replace(RECREATED, accepting=Accepting(make_memory=other_logs.NotesNothing)),
    ),
)

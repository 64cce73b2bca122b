"""Restore: a job from objects of a feed into a topic, from its checks to its last transaction."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from aggregator.formats.record_slice import NO_TIME
from aggregator.loader.intent_effects import EffectProducer
from aggregator.loader.object_sink import address_of
from aggregator.objects.told_object import ToldObject
from aggregator.restore.listed_source import ListedSource
from aggregator.restore.object_inventory import InventorySource
from aggregator.restore.record_source import RecordSource
from aggregator.restore.restore_entry import (
    RestoreEntries,
    RestoreEntry,
    by_number,
    claim,
    resumed,
)
from aggregator.restore.restore_job import RestoreRequest, RestoreState
from aggregator.restore.restore_plan import CannotRestore, PartitionPlan, named, plan_partitions
from aggregator.restore.restore_session import RestoredPartition, RestoreSession
from aggregator.restore.restored_runs import (
    GroupPosition,
    own_topics,
    position_of,
    restored_runs,
)
from aggregator.restore.target_topic import batch_bytes_max, check_topic, new_topic
from aggregator.restore.told_source import ToldSource
from aggregator.s3.object_listing import differences
from aggregator.s3.object_store import ObjectStore, StoreAddress
from balancer.topic_partition import TopicPartition
from replicator.config.names import RESTORED_TOPIC, restore_id
from replicator.config.topology import Appliance
from replicator.kafka.admin.admin import Admin
from replicator.kafka.admin.own_topics import make_topics
from replicator.kafka.admin.topic import Topic
from replicator.kafka.client import trouble_watch
from replicator.kafka.client.cluster import Cluster, Fenced
from replicator.kafka.client.fenced_committer import FencedCommitter
from replicator.kafka.client.progress_expiry import read_expiry
from replicator.mirror.offset_map.offset_map import OffsetMap
from replicator.runtime.gather import gather_or_cancel
from replicator.runtime.run_in_thread import run_in_thread

FOLDER_PREFIX = "sluice-restore-"
"""Begin of the name of the folder for copies of objects; a restore that is killed leaves it."""


Progress = Callable[[int], None]
"""Called with the records that each transaction has restored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Makers:
    """Makers of replaceable parts. A test that takes a rule out replaces the part that keeps it."""

    store: Callable[[StoreAddress], ObjectStore] = ObjectStore
    listed_source: Callable[..., InventorySource] = ListedSource
    admin: Callable[..., Admin] = Admin
    session: Callable[..., RestoreSession] = RestoreSession


MAKERS = Makers()


class Restore:
    """Restore of one job.

    Args:
        timeout_seconds: for reading each cluster's topics, and for answers of admin clients.
        makers: of replaceable parts.
    """

    def __init__(
        self,
        appliance: Appliance,
        request: RestoreRequest,
        timeout_seconds: float,
        makers: Makers = MAKERS,
    ) -> None:
        self._appliance = appliance
        self._request = request
        self._seconds = timeout_seconds
        self._makers = makers
        self._store = makers.store(address_of(request.feed))
        self._source: InventorySource = (
            makers.listed_source(request, self._store)
            if request.is_listed
            else ToldSource(request, appliance.cluster(request.source), timeout_seconds)
        )
        target = appliance.cluster(request.target)
        self._target = Cluster(request.target, target)
        self._admin = makers.admin(request.target, target, timeout_seconds)

    async def prepare(self) -> None:
        """Lists the bucket if that is asked for, however long it takes.

        Raises StoreProblem, CannotRestore.
        """
        await self._source.prepare()

    async def open(self) -> None:
        """Connects to the clusters. Raises Unreachable."""
        await gather_or_cancel(
            self._source.open(),
            self._target.open([self._request.target_topic, RESTORED_TOPIC]),
        )

    async def close(self) -> None:
        await asyncio.gather(self._source.close(), self._target.close())

    @property
    def trouble(self) -> str:
        """Problems of the clusters that do not answer at present."""
        found = filter(None, (self._source.trouble, self._target.trouble))
        return "; ".join(found) or "no answer yet"

    async def watch(self, report: Callable[[str], None]) -> None:
        """Reports problems of the target that last. Runs until cancelled."""
        await trouble_watch.watch(self._target, report)

    async def look(self) -> RestoreState:
        """Returns how the job stands; changes nothing.

        Raises:
            CannotRestore: a check refuses the job.
            AdminError, LogUnreadable, StoreProblem: a server gives no answer.
        """
        topic = await run_in_thread(self._topic)
        if topic is None:
            plans, partitions = await self._plans({})
            return RestoreState(
                plans=plans,
                entries={plan.partition: self._claim(plan, 0, "") for plan in plans},
                partitions=partitions,
                is_there=False,
            )
        held = await self._held(RestoreEntries(self._target, topic.topic_id.hex), topic)
        # A job that has begun ends where it was to end then; the feed may have gone on since.
        begun = {number: it.end for number, it in held.items() if it.job == self._request.job}
        at_least = topic.partitions if self._request.is_listed else 0
        plans, partitions = await self._plans(begun, at_least)
        partitions = topic.partitions if begun else partitions
        self._check(topic, plans, partitions)
        found = await self._standing(plans, topic, held)
        return RestoreState(plans=plans, entries=found, partitions=partitions, is_there=True)

    async def create(self, partitions: int, replication_factor: int) -> None:
        """Creates the target topic. Raises AdminError."""
        wanted = new_topic(self._request.target_topic, partitions, replication_factor)
        await run_in_thread(make_topics, self._admin, [wanted])
        await self._target.refresh()

    async def run(self, state: RestoreState, progress: Progress) -> RestoreState:
        """Restores what is left of the job, and returns how it stands then.

        Raises:
            Fenced: another restore into the topic has begun.
            CannotRestore: a check refuses the job, or an object is not the one that was told; what
                was committed stays.
            ProducerStateLost, StoreProblem: run it again.
        """
        topic = await run_in_thread(self._topic)
        if topic is None:
            raise CannotRestore(
                f"there is no topic {self._request.target_topic} in {self._request.target}; create "
                f"it with {state.partitions} partitions, or use --create"
            )
        self._check(topic, state.plans, state.partitions)
        left = [
            told
            for plan in state.plans
            for told in plan.left(state.entries[plan.partition].position)
        ]
        if not self._request.is_listed:
            await run_in_thread(self._ask_store, left)
        replicas = self._appliance.topics.replication_factor
        await run_in_thread(make_topics, self._admin, own_topics(replicas))
        entries = RestoreEntries(self._target, topic.topic_id.hex)
        # Refused before it fences: another job's restore may run.
        await self._standing(state.plans, topic, await self._held(entries, topic))
        try:
            return await self._write(state, topic, entries, progress)
        except Fenced as error:
            raise Fenced(
                f"another restore into {topic.name} has begun, or a transaction took longer than "
                f"replicator.transaction_timeout_ms ({error})"
            ) from error

    async def _write(
        self, state: RestoreState, topic: Topic, entries: RestoreEntries, progress: Progress
    ) -> RestoreState:
        """Writes what is left, and returns how the job stands then."""
        fenced_committer = await FencedCommitter(
            self._target,
            restore_id(topic.topic_id.hex),
            self._appliance.replicator.transaction_timeout_ms,
        ).open()
        found = await self._claimed(state.plans, topic, entries, fenced_committer)
        with TemporaryDirectory(prefix=FOLDER_PREFIX, ignore_cleanup_errors=True) as folder:
            session = self._makers.session(
                topic_id=topic.topic_id.hex,
                fenced_committer=fenced_committer,
                entries=entries,
                producer=EffectProducer(self._target),
                partitions=self._restored(state.plans, topic, found, Path(folder)),
                note=lambda new: progress(self._noted(found, new)),
                known={TopicPartition(topic.name, number): it for number, it in found.items()},
                expiry=await read_expiry(self._target),
            )
            await session.run()
        return RestoreState(
            plans=state.plans, entries=found, partitions=state.partitions, is_there=True
        )

    async def positions(
        self, state: RestoreState, offsets: Sequence[tuple[int, int]]
    ) -> tuple[GroupPosition, ...]:
        """Returns where a group goes on that has committed these offsets of the source topic.

        Args:
            offsets: partitions and offsets; those of partitions that are not restored are left out.
        """
        topic = await run_in_thread(self._topic)
        maps: Mapping[int, OffsetMap] = {}
        if topic is not None and any(each.records for each in state.entries.values()):
            cluster = self._appliance.cluster(self._request.target)
            maps = await run_in_thread(
                restored_runs, self._request.target, cluster, topic.topic_id.hex, self._seconds
            )
        return tuple(
            position_of(number, offset, state.entries[number], maps.get(number, OffsetMap()))
            for number, offset in sorted(offsets)
            if number in state.entries
        )

    async def group_offsets(self, group: str, partitions: int) -> list[tuple[int, int]]:
        """Returns partitions and offsets of the source topic that a group has committed."""
        return await self._source.group_offsets(group, partitions)

    # -- what is restored

    async def _plans(
        self, begun: Mapping[int, int], partitions: int = 0
    ) -> tuple[tuple[PartitionPlan, ...], int]:
        """Returns the plans, and the number of the source topic's partitions.

        Args:
            begun: ends of the partitions of a job that has begun.
            partitions: of the source topic at least.
        """
        request = self._request
        found = await self._source.take()
        partitions = max(found.partitions, partitions)
        for number, end in begun.items():
            if end > found.passed.get(number, end):
                raise CannotRestore(
                    f"partition {number}: the restore has begun with objects up to {end}, and the "
                    f"feed has passed {found.passed[number]}: wait for it, or go on with "
                    "--from-listing once the feed is stopped"
                )
        plans = plan_partitions(
            found.objects, request.wanted, found.passed, partitions, begun, found.forgotten
        )
        if not any(plan.objects for plan in plans):
            objects = sum(each.objects for plan in plans for each in plan.forgotten)
            gone = f"; {objects} were forgotten, as the bucket had dropped them" if objects else ""
            raise CannotRestore(
                f"feed {request.feed.name} has no object with such records of {request.topic} "
                f"in {request.source}, below "
                f"{request.feed.bucket}/{request.feed.prefix_of(request.source)}{gone}"
            )
        return plans, partitions

    def _ask_store(self, objects: Sequence[ToldObject]) -> None:
        """Raises CannotRestore if the store has other objects than those that were told."""
        if found := [f"{each.key} {each.text}" for each in differences(self._store, objects)]:
            raise CannotRestore(
                f"{named(found)}; bring the objects back, or name a range without them"
            )

    # -- target

    def _topic(self) -> Topic | None:
        found = self._admin.topics([self._request.target_topic])
        return found[0] if found else None

    def _check(self, topic: Topic, plans: Sequence[PartitionPlan], partitions: int) -> None:
        firsts = (told.first_ms for plan in plans for told in plan.objects)
        times = [each for each in firsts if each != NO_TIME]
        since_ms = self._request.wanted.since_ms
        oldest_ms = min(times, default=NO_TIME)
        if times and since_ms is not None:
            oldest_ms = max(oldest_ms, since_ms)
        check_topic(topic, partitions, oldest_ms, time.time_ns() // 1_000_000)

    async def _held(self, entries: RestoreEntries, topic: Topic) -> dict[int, RestoreEntry]:
        return by_number(await entries.read(self._places(topic)))

    async def _standing(
        self, plans: Sequence[PartitionPlan], topic: Topic, entries: Mapping[int, RestoreEntry]
    ) -> dict[int, RestoreEntry]:
        """Returns the entries of the job, or its first ones if the topic is empty.

        Raises:
            CannotRestore: the topic holds anything else.
        """
        ends = await self._ends(topic)
        if entries:
            return {
                plan.partition: resumed(self._request.job, plan, entries, ends[plan.partition])
                for plan in plans
            }
        starts = await gather_or_cancel(
            *(self._target.log_start(*place) for place in self._places(topic))
        )
        if list(starts) != list(ends):
            raise CannotRestore(
                f"topic {topic.name} holds records of others; restore into an empty topic"
            )
        id_ = restore_id(topic.topic_id.hex)
        return {plan.partition: self._claim(plan, ends[plan.partition], id_) for plan in plans}

    async def _claimed(
        self,
        plans: Sequence[PartitionPlan],
        topic: Topic,
        entries: RestoreEntries,
        fenced_committer: FencedCommitter,
    ) -> dict[int, RestoreEntry]:
        """Returns the entries from which the job goes on. New ones are committed before any record:
        a session that is killed later leaves a topic that is known to be ours."""
        held = by_number(await entries.read_as_holder(fenced_committer, self._places(topic)))
        found = await self._standing(plans, topic, held)
        if not held:
            new = {TopicPartition(topic.name, number): each for number, each in found.items()}
            await entries.commit(fenced_committer, new)
        return found

    async def _ends(self, topic: Topic) -> list[int]:
        return await gather_or_cancel(
            *(self._target.log_end(*place) for place in self._places(topic))
        )

    def _places(self, topic: Topic) -> list[TopicPartition]:
        return [TopicPartition(topic.name, number) for number in range(topic.partitions)]

    def _claim(self, plan: PartitionPlan, target_end: int, id_: str) -> RestoreEntry:
        return claim(self._request.job, self._request.text, plan, target_end, id_)

    # -- session

    def _restored(
        self,
        plans: Sequence[PartitionPlan],
        topic: Topic,
        entries: Mapping[int, RestoreEntry],
        folder: Path,
    ) -> list[RestoredPartition]:
        """Returns the partitions that are not done."""
        restored = []
        for plan in plans:
            entry = entries[plan.partition]
            if entry.is_done:
                continue
            source = RecordSource(
                plan,
                entry.position,
                self._request.wanted,
                self._store,
                folder,
                batch_bytes_max(topic),
            )
            place = TopicPartition(topic.name, plan.partition)
            restored.append(RestoredPartition(place, source, entry))
        return restored

    @staticmethod
    def _noted(entries: dict[int, RestoreEntry], new: Mapping[TopicPartition, RestoreEntry]) -> int:
        """Replaces entries by the new ones; returns how many records they have more."""
        before = sum(entries[place.partition].records for place in new)
        entries.update(by_number(new))
        return sum(each.records for each in new.values()) - before

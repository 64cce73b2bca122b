"""Mutations: each takes a rule of objects out, and a history has to find that."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from aggregator.formats.record_slice import RecordSlice
from aggregator.intents.table_range import Manifest, TableRange
from aggregator.loader.held_partition import HeldPartition
from aggregator.loader.intent_committer import IntentCommitter
from aggregator.loader.intent_effects import LetterRefused
from aggregator.loader.loader_assembly import Makers
from aggregator.loader.object_forming import ObjectForming
from aggregator.loader.object_partition import ObjectPartition, held_for_objects
from aggregator.loader.object_records import object_record
from aggregator.loader.store_retry import UploadLost
from aggregator.objects.object_draft import ObjectDraft
from aggregator.objects.object_progress import ObjectProgress
from aggregator.objects.rotation import Ending
from aggregator.objects.told_object import ToldObject
from aggregator.s3.answers import Answer, StoreProblem
from aggregator.s3.object_store import ObjectStore
from aggregator.s3.open_object import OpenObject
from balancer.topic_partition import TopicPartition
from replicator.runtime.run_in_thread import run_in_thread
from tests.world.objects.scene import FULL_OF_LETTERS, LETTERS, RESTS, Course
from tests.world.objects.server import StoreKind
from tests.world.sinks import letters, resting
from tests.world.sinks.loader_faults import FAULTS as OF_LOADERS
from tests.world.sinks.mutation import Mutation
from tests.world.sinks.mutations import FencesNobody, FormsAnew, LettersAfter, LettersApart

USUAL = Course(partitions=2, brokers=1, seconds=30.0, only=tuple(each.name for each in OF_LOADERS))
"""Course in which all faults are those of loaders."""


# -- progress


class PassesOpen(ObjectProgress[RecordSlice]):
    """Lets sealed objects alone hold the offset back."""

    @property
    def offset(self) -> int:
        sealed = [each.sealed.begin for each in self._objects.values() if each.sealed]
        return min([self.position, *sealed])


class PassesUnread(ObjectProgress[RecordSlice]):
    """Takes the end of what is passed for the offset where nothing is open."""

    @property
    def offset(self) -> int:
        objects = self._objects.values()
        firsts = [each.first for each in objects if each.first is not None]
        return min(firsts, default=max([self.position, *(each.passed_to for each in objects)]))


class NamesNoMarkers(ObjectProgress[RecordSlice]):
    """Names sealed objects only."""

    def _named(self) -> dict[str, TableRange]:
        return self.in_flight


class CutsReplays(ObjectProgress[RecordSlice]):
    """Writes of a sealed object what was read again by then."""

    def replays(self) -> Iterator[tuple[str, Manifest, ObjectDraft[RecordSlice]]]:
        for name, manifest, draft in super().replays():
            if draft.records:
                draft.ending = Ending.INTENT
            yield name, manifest, draft


class EndsByClock(ObjectProgress[RecordSlice]):
    """Ends objects by the clock, whatever the limits are."""

    def end_by_clock(self, now: float) -> None:
        for draft in self._open():
            draft.ending = Ending.AGE if now - draft.since > 1.0 else None


class DropsTheRest(ObjectProgress[RecordSlice]):
    """Ends an object behind what was taken of it, and forgets what was read behind that."""

    def end_taken(self, name: str, why: Ending) -> None:
        draft = self._objects[name].drafts[0]
        draft.cut()
        draft.ending = why


class SealsMore(ObjectProgress[RecordSlice]):
    """Seals an object while another one of its encoded partition is sealed."""

    def can_seal(self, name: str, manifest: Manifest) -> bool:
        return True

    def seal(self, name: str, manifest: Manifest) -> None:
        self._objects[name].sealed = None
        super().seal(name, manifest)

    def passed(self, name: str) -> None:
        if self._objects[name].sealed is not None:
            super().passed(name)


class Partitions(dict[TopicPartition, HeldPartition]):
    """Partitions with another kind of progress."""

    def __init__(self, kind: type[ObjectProgress[RecordSlice]]) -> None:
        super().__init__()
        self._kind = kind

    def __setitem__(self, place: TopicPartition, partition: HeldPartition) -> None:
        partition.progress.__class__ = self._kind
        super().__setitem__(place, partition)


def _with(kind: type[ObjectProgress[RecordSlice]], **others: Any) -> Makers:
    """Returns makers of loaders with another kind of progress."""
    return Makers(partitions=lambda: Partitions(kind), **others)


# -- intents


class TellsSome(IntentCommitter):
    """Tells of a failed commit those who wait for it, and not those who came while it ran."""

    async def _commit(self, *wanted: Any) -> None:
        try:
            await super()._commit(*wanted)
        except LetterRefused:
            raise
        except Exception:
            self._next = None
            raise


class CommitsLater(IntentCommitter):
    """Lets objects be completed while their intent is being committed."""

    async def commit(self, partition: HeldPartition, *produced: Any, **more: Any) -> None:
        self._last = asyncio.ensure_future(super().commit(partition, *produced, **more))
        await asyncio.sleep(0)


# -- completion


class Believing(ObjectForming):
    """Forming that passes objects by itself."""

    async def _pass(
        self, partition: ObjectPartition, name: str, manifest: Manifest, opened: OpenObject
    ) -> None:
        partition.progress.passed(name)
        told = ToldObject.of(
            opened.key,
            str(self.assignment.cluster),
            partition.partition,
            manifest,
            layout=partition.progress.layout,
            told_at_ms=time.time_ns() // 1_000_000,
        )
        record = object_record(self.assignment.feed.name, told)
        await self.committer.commit(partition, told=[record])
        self._open.pop((partition.partition, name, manifest.begin), None)


class BelievesSuccess(Believing):
    """Takes a success for enough."""

    async def _complete(
        self, partition: ObjectPartition, name: str, manifest: Manifest, opened: OpenObject
    ) -> None:
        try:
            await opened.upload.complete()
        except StoreProblem:
            await super()._complete(partition, name, manifest, opened)
        else:
            await self._pass(partition, name, manifest, opened)


class TellsBefore(Believing):
    """Tells of an object, and completes it then."""

    async def _complete(
        self, partition: ObjectPartition, name: str, manifest: Manifest, opened: OpenObject
    ) -> None:
        await self._pass(partition, name, manifest, opened)
        await self._retry.until_done(partition.partition, name, opened.upload.complete)


class BelievesNames(Believing):
    """Takes whatever is under the name for the object."""

    async def _is_settled(
        self, partition: ObjectPartition, name: str, manifest: Manifest, opened: OpenObject
    ) -> bool:
        found = await run_in_thread(self.store.head, opened.key)
        if found is not None:
            await self._pass(partition, name, manifest, opened)
        return found is not None


class BelievesGone(ObjectForming):
    """Takes an upload that is gone for an object that never was: its records form others."""

    async def _complete(
        self, partition: ObjectPartition, name: str, manifest: Manifest, opened: OpenObject
    ) -> None:
        try:
            await opened.upload.complete()
        except StoreProblem as problem:
            if problem.answer is Answer.UPLOAD_GONE:
                raise UploadLost(str(problem)) from problem
        await super()._complete(partition, name, manifest, opened)

    async def _begin_anew(self, place: TopicPartition, lost: UploadLost) -> None:
        await super()._begin_anew(place, lost)
        if partition := self.partitions.get(place):
            tables: Mapping[str, TableRange] = partition.intent.tables
            markers = {name: each for name, each in tables.items() if each.is_marker}
            intent = replace(partition.intent, tables=MappingProxyType(markers))
            self.partitions[place] = held_for_objects(self.layout, self.counts, place, intent, -1)


class SealsTwo(ObjectForming):
    """Goes on with the next object of an encoded partition while one is completed."""

    async def _complete(
        self, partition: ObjectPartition, name: str, manifest: Manifest, opened: OpenObject
    ) -> None:
        self._last = asyncio.ensure_future(super()._complete(partition, name, manifest, opened))
        await asyncio.sleep(0)


class Unconditional:
    """Client of a store that overwrites what is under a name."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, operation: str) -> Any:
        ask = getattr(self._client, operation)

        def asked(*words: Any, IfNoneMatch: str = "", **more: Any) -> Any:  # noqa: N803
            return ask(*words, **more)

        return asked


class Overwriting(ObjectStore):
    """Store whose requests have no condition."""

    @property
    def _client(self) -> Any:
        return Unconditional(super()._client)


STRIKES = ("strike at an intent", "strike at a request", "kill a loader soon")
BY_LOG = replace(USUAL, by_log=True)
"""Course in which the log alone ends objects."""
TAKEOVERS = replace(USUAL, only=STRIKES, partition_by="field", fault_seconds=1.0)
"""Course of loaders that are killed or stopped at a step of an object's way."""
DEATHS = replace(USUAL, only=("die within completions", "new epoch"))
"""Course of a store that dies within completions, and says that they are done."""
UPLOADS = replace(USUAL, only=("sweep uploads", "lose answers of the store", "late completions"))
"""Course of uploads that are gone, by somebody or by a completion whose answer was lost."""
NAMES = replace(USUAL, only=("take a name",), kind=StoreKind())
"""Course of a store in which somebody takes names of objects."""

AMID = Course(only=("stop a loader amid a transaction",))
"""Course in which loaders stand still amid their commits, mostly until these are aborted."""

MUTATIONS = (
    Mutation(
        37, "two objects of a folder are sealed", _with(SealsMore, object_forming=SealsTwo), USUAL
    ),
    Mutation(38, "open objects are passed", _with(PassesOpen), USUAL),
    Mutation(39, "markers of folders are forgotten", _with(NamesNoMarkers), USUAL),
    Mutation(39, "holders of objects are not fenced", Makers(acquisition=FencesNobody), USUAL),
    Mutation(42, "objects' letters come before", Makers(intent_committer=LettersApart), USUAL),
    Mutation(42, "objects' letters come behind", Makers(intent_committer=LettersAfter), USUAL),
    Mutation(48, "completed before the intent", Makers(intent_committer=CommitsLater), USUAL),
    Mutation(48, "told before it is complete", Makers(object_forming=TellsBefore), USUAL),
)
OF_ENDS = (
    Mutation(
        38,
        "records behind an object that its letters fill are forgotten",
        _with(DropsTheRest),
        FULL_OF_LETTERS,
    ),
)
OF_LOG = (Mutation(39, "the clock ends objects of the log", _with(EndsByClock), BY_LOG),)
OF_TAKEOVERS = (
    Mutation(38, "unread offsets are passed", _with(PassesUnread), TAKEOVERS),
    Mutation(39, "objects are formed anew", Makers(acquisition=FormsAnew), TAKEOVERS),
    Mutation(39, "a sealed object is cut", _with(CutsReplays), TAKEOVERS),
)
OF_DEATHS = (Mutation(48, "a success is believed", Makers(object_forming=BelievesSuccess), DEATHS),)
OF_NAMES = (
    Mutation(48, "any object of the name counts", Makers(object_forming=BelievesNames), NAMES),
    Mutation(48, "no condition", Makers(object_store=Overwriting), NAMES),
)
OF_UPLOADS = (
    Mutation(
        48, "an upload that is gone is believed", Makers(object_forming=BelievesGone), UPLOADS
    ),
)
OF_LETTERS = (
    Mutation(
        57,
        "objects: letters have the times of records",
        Makers(effects=letters.KeepsTimes),
        LETTERS,
    ),
    Mutation(57, "objects: no letter is cut", Makers(effects=letters.CutsNothing), LETTERS),
    Mutation(
        57,
        "objects: letters beyond a batch are left out",
        Makers(effects=letters.SendsSome),
        LETTERS,
    ),
    Mutation(57, "objects: headers are texts", Makers(effects=letters.GarblesHeaders), LETTERS),
)
OF_COMMITS = (
    Mutation(53, "who waits is not told of a failure", Makers(intent_committer=TellsSome), AMID),
)
AWAY = replace(RESTS, seconds=200.0, only=("loaders away", "kill a loader"), fault_seconds=3.0)
"""Course of loaders that are away beside a driver."""
STILL = replace(AWAY, only=("loaders stand still", "kill a loader"))
"""Course of loaders that a driver takes for dead, and that go on while it stands still."""
OF_RESTS = resting.mutations(54, resting.BEGINNING, RESTS, "objects: ")
OF_AWAY = resting.mutations(55, resting.RENEWING, AWAY, "objects: ")
OF_STILL = resting.mutations(55, resting.READING, STILL, "objects: ")

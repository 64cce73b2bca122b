"""Object forming: writes the objects of all partitions, commits their intents, and completes them.

For each object, in this order:

1. Open: its records become a file, whose parts are uploaded. Nobody sees them.
2. Sealed: its last part is there; its manifest goes into the next intent, which is committed.
3. Complete: the store shows the object. Whether it does, only HEAD of its name tells.
4. Told and passed: in one transaction the topic of objects gets its manifest, and the next intent
   its end.

Of an object that a predecessor sealed HEAD is asked first. If it is not there, the uploads that are
left under its name are aborted, and the same range is read again and goes through 1 to 4.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Container, Coroutine
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from heapq import nsmallest
from typing import Any

from aggregator.formats.record_slice import RecordSlice
from aggregator.intents.table_range import Manifest
from aggregator.loader.dead_letters import LETTERS_BYTES_MAX, dead_letters
from aggregator.loader.forming_room import FormingRoom
from aggregator.loader.intent_committer import IntentCommitter, IntentRefused
from aggregator.loader.intent_effects import EffectProducer
from aggregator.loader.loader_assignment import LoaderAssignment
from aggregator.loader.object_counts import ObjectCounts
from aggregator.loader.object_layout import ObjectLayout
from aggregator.loader.object_memory import bytes_to_write, end_largest, weigh
from aggregator.loader.object_partition import ObjectPartition, held_for_objects
from aggregator.loader.object_records import object_record, told_place
from aggregator.loader.object_tags import ObjectTags
from aggregator.loader.partition_error import partition_error
from aggregator.loader.store_retry import StoreRetry, UploadLost
from aggregator.objects.object_draft import ObjectDraft
from aggregator.objects.rotation import Ending
from aggregator.objects.schema_versions import bare
from aggregator.objects.told_object import ToldObject
from aggregator.s3.answers import Answer, StoreProblem
from aggregator.s3.object_store import ObjectStore
from aggregator.s3.object_verdict import Verdict, verdict
from aggregator.s3.open_object import OpenObject
from balancer.topic_partition import TopicPartition
from replicator.kafka.client.loss import Loss, LossKind
from replicator.runtime.freed_memory import FreedMemory, map_large_blocks
from replicator.runtime.gather import gather_or_cancel
from replicator.runtime.run_in_thread import run_in_thread

log = logging.getLogger(__name__)

TICK_SECONDS = 0.05
RESTED_PART = 4
"""Rest after a tick, as a multiple of what it took: with very many open objects ticks are rarer."""
TASKS_MAX = 96
TASKS_MIN = 8
"""Objects of a loader that are written or completed at once; those of one partition at least."""
OFFSET_SECONDS = 1.0
"""Time after which an offset is committed that has moved without an object: behind records that a
predecessor had passed, and behind markers of transactions. So is the age of open objects."""
TAKEN_BYTES = 1 << 20
"""Memory of the records that are written at once; while that is done they have several forms."""
FREED_AFTER = 2
"""Records that are written before freed memory is given back, as a multiple of what their forms may
take."""
CLOSE_SECONDS = 5.0
"""Longest time for aborting uploads at the end; a sweep aborts those that are left."""

_SCHEMAS = ""
"""Name of the task that fetches schemas, in place of an encoded partition."""
MakeObject = Callable[[TopicPartition, str, int, int], OpenObject]
"""Makes the object of an encoded partition that begins at an offset of an incarnation."""


@dataclass(eq=False)
class ObjectForming:
    """Forms and completes the objects of a loader's partitions.

    Args:
        partitions: of the loader; other parts add and remove some meanwhile.
        layout: of the objects, with the schemas of their records.
        open_bytes_max: memory of all open objects, above which the largest ends.
        producer: of the records that tell of objects; None: nobody knows where these are.
        forms_bytes_max: memory for the forms of records that are being written.
    """

    assignment: LoaderAssignment
    partitions: dict[TopicPartition, ObjectPartition]
    committer: IntentCommitter
    store: ObjectStore
    make_object: MakeObject
    layout: ObjectLayout
    open_bytes_max: int
    counts: ObjectCounts
    tags: ObjectTags
    producer: EffectProducer | None = None
    forms_bytes_max: int = 1 << 62
    _wake: asyncio.Event = field(init=False, default_factory=asyncio.Event)
    _open: dict[tuple[TopicPartition, str, int], OpenObject] = field(
        init=False, default_factory=dict
    )
    _tasks: dict[tuple[TopicPartition, str], asyncio.Task[None]] = field(
        init=False, default_factory=dict
    )
    _retry: StoreRetry = field(init=False)
    letters_bytes_max: int = field(init=False)
    """Memory of an object's dead letters, beyond which it ends."""
    _forms: FormingRoom = field(init=False)
    _freed: FreedMemory = field(init=False)

    def __post_init__(self) -> None:
        self._forms = FormingRoom(self.forms_bytes_max)
        self._freed = FreedMemory(FREED_AFTER * self.forms_bytes_max)
        self.letters_bytes_max = min(LETTERS_BYTES_MAX, self.forms_bytes_max)
        self._retry = StoreRetry(self.assignment.log_fields, self.store)

    async def run(self) -> None:
        """Forms and completes objects until cancelled. Raises what a commit raises."""
        map_large_blocks()
        tagging = asyncio.create_task(self.tags.run())
        try:
            while True:
                self._wake.clear()
                began = time.monotonic()
                await self._take_results()
                weigh(self.partitions, self._open)
                end_largest(self.partitions, self._open, self.open_bytes_max)
                enough = bytes_to_write(self.partitions, self.open_bytes_max)
                for partition in list(self.partitions.values()):
                    if not partition.is_stopped:
                        self._start(partition, enough)
                self._freed.look(began)
                rest = RESTED_PART * (time.monotonic() - began)
                await self._commit_offsets()
                if rest > TICK_SECONDS:
                    await asyncio.sleep(rest)
                with suppress(TimeoutError):
                    async with asyncio.timeout(TICK_SECONDS):
                        await self._wake.wait()
        finally:
            await self._end([tagging, *self._tasks.values()])

    async def drop(self, place: TopicPartition) -> None:
        """Ends the work on a partition. A sealed object may still be completed."""
        await self._end([task for (each, _), task in self._tasks.items() if each == place])
        dropped = [key for key in self._open if key[0] == place]
        await self._abort([self._open.pop(key) for key in dropped])

    def filled(self) -> None:
        """Notes that records came in."""
        self._wake.set()

    async def close(self) -> None:
        """Aborts the uploads that are left."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._abort(list(self._open.values()))
                await self.tags.finish()

    # -- tasks

    def _start(self, partition: ObjectPartition, enough: int) -> None:
        progress = partition.progress
        for name, manifest, draft in progress.replays():
            is_begun = (partition.partition, name, manifest.begin) in self._open
            is_idle = is_begun and _is_idle(draft)
            if not is_idle and (partition.partition, name) not in self._tasks:
                self._run(partition, name, self._replay(partition, name, manifest, draft))
        if partition.is_settling:
            return
        if partition.schemas_wanted and (partition.partition, _SCHEMAS) not in self._tasks:
            self._run(partition, _SCHEMAS, self._fetch_schemas(partition))
        progress.end_due(time.time())
        place, flying = partition.partition, progress.in_flight
        due = [
            (draft.ending is None, draft.begin, name, draft)
            for name, draft in progress.writable()
            if (draft.size_bytes >= enough or _is_sealable(name, draft, flying))
            and (place, name) not in self._tasks
        ]
        # The object that holds back the offset is the first of those that have ended.
        for _, _, name, draft in nsmallest(self._room(place), due):
            self._run(partition, name, self._write(partition, name, draft))

    def _room(self, place: TopicPartition) -> int:
        """Returns how many further objects of a partition may be written at once."""
        share = max(TASKS_MIN, TASKS_MAX // max(1, len(self.partitions)))
        return max(0, share - sum(each == place for each, _ in self._tasks))

    async def _commit_offsets(self) -> None:
        late = time.monotonic() - OFFSET_SECONDS
        moved = [
            each
            for each in self.partitions.values()
            if not each.is_stopped
            and each.committed_at < late
            and (
                each.progress.offset > each.intent.offset
                or not each.progress.tells_age(each.intent)
            )
        ]
        with suppress(IntentRefused):
            await gather_or_cancel(*map(self.committer.commit, moved))

    def _run(self, partition: ObjectPartition, name: str, work: Coroutine[Any, Any, None]) -> None:
        task = self._tasks[partition.partition, name] = asyncio.create_task(work)
        task.add_done_callback(lambda _: self._wake.set())

    async def _take_results(self) -> None:
        """Takes the tasks that have ended; begins a partition anew whose upload is lost."""
        for key, task in list(self._tasks.items()):
            if not task.done():
                continue
            del self._tasks[key]
            if task.cancelled():
                continue
            try:
                task.result()
            except IntentRefused:
                pass  # the session parks the partition
            except UploadLost as lost:
                await self._begin_anew(key[0], lost)
            except Exception as error:
                self._note(key, error)

    def _note(self, key: tuple[TopicPartition, str], error: Exception) -> None:
        """Notes an error of a partition's own; raises others."""
        (place, name), partition = key, self.partitions.get(key[0])
        offset = -1
        if partition is not None:
            progress = partition.progress
            begins = [manifest.begin for it, manifest, _ in progress.replays() if it == name]
            begins += [draft.begin for it, draft in progress.writable() if it == name]
            offset = min(begins, default=progress.offset)
        fields = f"{self.assignment.log_fields} {place.topic}-{place.partition}"
        found = partition_error(error, offset, fields)
        if partition is not None:
            partition.error = found

    async def _begin_anew(self, place: TopicPartition, lost: UploadLost) -> None:
        self.counts.upload_lost()
        log.warning(
            "event=upload-lost %s %s-%d: %s; its records are read again",
            self.assignment.log_fields,
            *place,
            lost,
        )
        await self.drop(place)
        before = self.partitions.get(place)
        if before is None or before.is_stopped:
            return
        # A commit of what was cancelled may be under way; the partition begins behind it.
        with suppress(IntentRefused):
            await self.committer.commit(before)
        if self.partitions.get(place) is not before or before.is_stopped:
            return
        anew = held_for_objects(self.layout, self.counts, place, before.intent, -1)
        anew.is_settling, anew.is_frozen, anew.rows = (
            before.is_settling,
            before.is_frozen,
            before.rows,
        )
        anew.is_careful = before.is_careful
        self.partitions[place] = anew

    @staticmethod
    async def _end(tasks: list[asyncio.Task[None]]) -> None:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    @staticmethod
    async def _abort(objects: list[OpenObject]) -> None:
        await asyncio.gather(*(each.upload.abort() for each in objects), return_exceptions=True)

    async def _fetch_schemas(self, partition: ObjectPartition) -> None:
        fetch = partial(run_in_thread, self.layout.schemas.fetch, partition.schemas_wanted)
        await self._retry.until_done(partition.partition, _SCHEMAS, fetch)
        partition.schemas_wanted = frozenset()

    # -- one object

    async def _write(
        self, partition: ObjectPartition, name: str, draft: ObjectDraft[RecordSlice]
    ) -> None:
        place, progress = partition.partition, partition.progress
        opened = await self._written(partition, name, draft)
        if not draft.is_taken:
            return
        await self._finish(place, name, opened)
        manifest = opened.manifest(draft, time.time_ns() // 1_000_000)
        if not await self._sealed(partition, name, draft, manifest, opened):
            if name not in progress.in_flight:
                # The intent is full of markers, which go once the offset moves.
                progress.end_holding(Ending.INTENT)
            # A task that ends is followed by another one at once.
            await asyncio.sleep(TICK_SECONDS)
            return
        await self._complete(partition, name, manifest, opened)

    async def _sealed(
        self,
        partition: ObjectPartition,
        name: str,
        draft: ObjectDraft[RecordSlice],
        manifest: Manifest,
        opened: OpenObject,
    ) -> bool:
        """Names an object in the intent, with its dead letters. Returns False if there is no room
        in the intent yet."""
        place = partition.partition
        room: AbstractAsyncContextManager[object] = nullcontext()
        if opened.dead:
            room = self._forms.taken(opened.letters_memory)
        async with room:
            if not partition.progress.can_seal(name, manifest):
                return False
            letters = dead_letters(
                self.assignment.feed.name,
                place,
                self.assignment.cluster,
                bare(name),
                opened.letters,
                opened.dead,
                partition.intent.incarnation_at(draft.begin),
            )
            partition.progress.seal(name, manifest)
            await self.committer.commit(partition, letters=letters)
        self.counts.sealed(place, draft.ending, manifest, opened.dead)
        opened.drop_letters()
        return True

    async def _replay(
        self,
        partition: ObjectPartition,
        name: str,
        manifest: Manifest,
        draft: ObjectDraft[RecordSlice],
    ) -> None:
        place = partition.partition
        opened = self._open.get((place, name, manifest.begin))
        if opened is None:
            opened = self._made(partition, name, manifest.begin, manifest.sealed_begin)
            opened.keeps_letters = False
            look = partial(self._is_settled, partition, name, manifest, opened)
            if await self._retry.until_done(place, name, look):
                self._open.pop((place, name, manifest.begin))
                return
            if manifest.fingerprint != opened.fingerprint:
                # Under them the name may be another one, and the object be there as well.
                text = f"{opened.key}: set them back until it is complete"
                self._park(partition, manifest, LossKind.OBJECT_SETTINGS, text)
                return
            await self._retry.until_done(place, name, partial(self._abort_others, opened.key))
        opened = await self._written(partition, name, draft)
        if not draft.is_taken:
            return
        await self._finish(place, name, opened)
        # The last records of the range may have been compacted away. Those behind a cut are gone.
        kept = {"end": manifest.end, "over": manifest.over, "before": manifest.before}
        again = replace(opened.manifest(draft, manifest.sealed_at_ms), **kept)  # type: ignore[arg-type]
        if again.left_out > manifest.left_out or again.written > manifest.written:
            text = f"{opened.key}: a schema came or went since it was sealed"
            self._park(partition, manifest, LossKind.OBJECT_SETTINGS, text)
            return
        if again.records < manifest.records and manifest == manifest.whole:
            log.warning(
                "event=object-changed %s %s-%d object=%s offsets=%d-%d records=%d intended=%d: "
                "the log does not have the others any more",
                self.assignment.log_fields,
                *place,
                opened.key,
                manifest.begin,
                manifest.end,
                again.records,
                manifest.records,
            )
        # Other bytes, such as those of another library, are named before anybody can see them.
        partition.progress.seal_again(name, again)
        await self.committer.commit(partition)
        await self._complete(partition, name, again, opened)

    async def _written(
        self, partition: ObjectPartition, name: str, draft: ObjectDraft[RecordSlice]
    ) -> OpenObject:
        """Returns the object of a draft, with everything written that was read."""
        place = partition.partition
        opened = self._open.get((place, name, draft.begin))
        opened = opened or self._made(partition, name, draft.begin)
        while slices := draft.take(TAKEN_BYTES):
            async with self._forms.taken(opened.writer.forming_bytes(slices)):
                await opened.write(slices)
            self._freed.note(sum(each.size_bytes for each in slices))
            del slices
            if opened.letters_memory >= self.letters_bytes_max:
                partition.progress.end_taken(name, Ending.MEMORY)
            await self._retry.until_done(place, name, opened.upload.send)
        return opened

    async def _finish(self, place: TopicPartition, name: str, opened: OpenObject) -> None:
        if not opened.is_finished:
            async with self._forms.taken(opened.writer.forming_bytes()):
                await opened.end()
        await self._retry.until_done(place, name, opened.finish)

    def _made(
        self, partition: ObjectPartition, name: str, begin: int, named_begin: int | None = None
    ) -> OpenObject:
        """Returns a new object of the records from an offset on.

        Args:
            named_begin: offset in its name, if it was sealed from a lower one on.
        """
        place, log = partition.partition, partition.intent.incarnation_at(begin)
        opened = self.make_object(place, name, begin if named_begin is None else named_begin, log)
        self._open[place, name, begin] = opened
        opened.is_careful = self.partitions[place].is_careful
        return opened

    async def _complete(
        self, partition: ObjectPartition, name: str, manifest: Manifest, opened: OpenObject
    ) -> None:
        place = partition.partition
        look = partial(self._is_settled, partition, name, manifest, opened)

        async def complete() -> None:
            # A store without the condition would overwrite whatever has the name.
            if not self.store.has_condition and await look():
                await self._abort([opened])
                return
            problem: StoreProblem | None = None
            try:
                if not manifest.is_empty:
                    await opened.upload.complete(manifest.over or None)
            except StoreProblem as found:
                problem = found
            is_settled = await look()
            if problem and is_settled:
                await self._abort([opened])  # another request has made the object
            elif problem and problem.answer is Answer.CONFLICT and opened.upload.has_parts:
                raise UploadLost(str(problem)) from problem
            elif not is_settled:
                # A success with nothing to see: the server died within it, or shows it late.
                text = f"{opened.key}: completed, and not to be seen"
                raise problem or StoreProblem(Answer.BUSY, text)

        await self._retry.until_done(place, name, complete)
        self._open.pop((place, name, manifest.begin), None)

    async def _is_settled(
        self, partition: ObjectPartition, name: str, manifest: Manifest, opened: OpenObject
    ) -> bool:
        """Looks at the name of an object; passes it if it is there. Returns True if nothing else is
        to be done for it: also where another content has taken its name."""
        place, key = partition.partition, opened.key
        found = None if manifest.is_empty else await run_in_thread(self.store.head, key)
        if found is not None and verdict(found, manifest) is Verdict.UNCLEAR:
            found = found._replace(crc32c=await run_in_thread(self.store.read_crc32c, key))
        judged = verdict(found, manifest)
        if not manifest.is_empty:
            self.counts.looked(judged)
        match judged:
            case Verdict.ABSENT | Verdict.GIVEN_UP:
                return False
            case Verdict.OURS:
                telling = told_place(self.assignment.feed.name, place)
                partition.progress.passed(name)
                if self.producer and telling in self.producer.ends:
                    # Behind all that was produced so far, and so it is told from there on.
                    end = self.producer.ends[telling]
                    partition.progress.told_at(name, manifest.end, end)
                partition.rows += manifest.written
                now_ms = time.time_ns() // 1_000_000
                self.counts.completed(place, manifest, now_ms)
                if manifest.last_ms >= 0:
                    partition.loaded_lag_ms = max(0, now_ms - manifest.last_ms)
                told = ToldObject.of(
                    key,
                    str(self.assignment.cluster),
                    place,
                    manifest,
                    layout=partition.progress.layout,
                    told_at_ms=now_ms,
                    encoded_partition=name,
                    incarnation=partition.intent.incarnation_at(manifest.begin),
                )
                record = object_record(self.assignment.feed.name, told)
                await self.committer.commit(partition, told=[record])
                if self.producer and telling in self.producer.begins:
                    begin = self.producer.begins[telling]
                    partition.progress.told_at(name, manifest.end, begin)
                if not manifest.is_empty:
                    self.tags.add(key, manifest)
            case Verdict.OTHER:
                ours = f"{manifest.size_bytes}, {manifest.crc32c:08x}"
                text = f"{key} has {found}; ours {ours}"
                self._park(partition, manifest, LossKind.OBJECT_TAKEN, text)
        return True

    @staticmethod
    def _park(partition: ObjectPartition, manifest: Manifest, kind: LossKind, text: str) -> None:
        partition.loss_to_park = Loss(kind, manifest.begin, manifest.end, text)

    async def _abort_others(self, key: str) -> None:
        """Aborts uploads of a name that a predecessor left behind."""
        for upload_id in await run_in_thread(self._uploads_of, key):
            await run_in_thread(self.store.abort, key, upload_id)

    def _uploads_of(self, key: str) -> list[str]:
        return [each.upload_id for each in self.store.uploads(key) if each.key == key]


def _is_sealable(name: str, draft: ObjectDraft[RecordSlice], flying: Container[str]) -> bool:
    """Returns True if an object has ended, and may be written to its end and sealed."""
    return draft.ending is not None and not _is_idle(draft) and name not in flying


def _is_idle(draft: ObjectDraft[RecordSlice]) -> bool:
    """Returns True if nothing can be done for an object before more of it is read."""
    return not draft.size_bytes and not draft.is_taken

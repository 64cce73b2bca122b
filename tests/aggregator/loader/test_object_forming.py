"""Object forming: memory, offsets that move without an object, and stores that are asked again."""

import asyncio
import logging
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from aggregator.intents.intent import Intent
from aggregator.intents.table_range import Manifest
from aggregator.loader import object_forming
from aggregator.loader.held_partition import HeldPartition
from aggregator.loader.object_forming import ObjectForming
from aggregator.loader.object_layout import ObjectLayout
from aggregator.loader.store_retry import StoreRetry, UploadLost
from aggregator.objects.object_progress import ObjectProgress
from aggregator.objects.rotation import Ending, Rotation
from aggregator.objects.told_object import decode
from aggregator.s3.answers import Answer, StoreProblem
from aggregator.s3.object_store import Found
from aggregator.tables.decoded import DeadRecord
from balancer.topic_partition import TopicPartition
from replicator.config.object_feed import ObjectFeed
from replicator.kafka.client.custody import Custody
from replicator.kafka.client.loss import Loss, LossKind
from tests.aggregator.objects.object_life import Logged, Part

# -- Forming of objects: memory, offsets that move without an object, and partitions that begin
# anew.

PLACE = TopicPartition("flights", 0)
COUNTS = SimpleNamespace(upload_lost=lambda: None, show_topic=lambda topic: None)
LAYOUT = ObjectLayout(
    ObjectFeed(name="f", kind="s3", region="east", clusters=("east aggregate",), bucket="air"),
    "east aggregate",
)
INTENT = Intent(custody=Custody.HELD, offset=0, reference=0, transactional_id="loader")


class Commits:
    """Takes commits."""

    def __init__(self):
        self.intents, self.told = [], []

    async def commit(self, partition, letters=(), told=()):
        self.told += told
        intent = partition.progress.intent(Custody.HELD, 7, 1, "loader")
        partition.committed(intent, 0.0)
        self.intents.append(intent)


def held(place, intent, leader_epoch):
    return HeldPartition(place, intent, ObjectProgress(Rotation(), intent), leader_epoch)


@pytest.fixture
def forming():
    partitions = {PLACE: held(PLACE, INTENT, 0)}
    assignment = SimpleNamespace(log_fields="feed=f")
    store = SimpleNamespace(renew=lambda: None)
    return ObjectForming(assignment, partitions, Commits(), store, None, LAYOUT, 100, COUNTS, None)


def read(forming, **names):
    """Reads a record into each name; opens their objects with as much memory as is told."""
    progress = forming.partitions[PLACE].progress
    begin = progress.position
    parts = {name: Part((Logged(begin + at, name),)) for at, name in enumerate(names)}
    end = begin + len(parts)
    progress.add(np.arange(begin, end), end, parts, 0.0)
    for name, draft in progress.writable():
        if name in names:
            upload = SimpleNamespace(abort=lambda: None)
            opened = SimpleNamespace(size_bytes=names[name], upload=upload)
            forming._open[PLACE, name, draft.begin] = opened


def endings(forming):
    return {name: draft.ending for name, draft in forming.partitions[PLACE].progress.writable()}


async def test_an_offset_that_moves_without_an_object_is_committed_once(forming, monkeypatch):
    now = [0.5]
    monkeypatch.setattr(object_forming, "time", SimpleNamespace(monotonic=lambda: now[0]))
    partition = forming.partitions[PLACE]
    partition.committed_at = 0.0
    partition.progress.add(np.arange(0), 5, {}, 0.0)
    await forming._commit_offsets()
    assert forming.committer.intents == []
    for _ in range(2):
        now[0] += object_forming.OFFSET_SECONDS
        await forming._commit_offsets()
    assert [intent.offset for intent in forming.committer.intents] == [5]


async def test_a_partition_whose_upload_is_lost_begins_behind_all_that_was_sealed(forming):
    """The commit of a seal may be under way when the upload of another object is lost."""
    partition = forming.partitions[PLACE]
    partition.is_settling, partition.rows = True, 11
    partition.progress.add(np.arange(0), 5, {}, 0.0)
    await forming._begin_anew(PLACE, UploadLost("gone"))
    anew = forming.partitions[PLACE]
    assert anew is not partition
    assert anew.intent is forming.committer.intents[-1]
    assert (anew.position, anew.leader_epoch) == (5, -1)
    assert (anew.is_settling, anew.rows) == (True, 11)


async def test_a_partition_that_is_parked_does_not_begin_anew(forming):
    partition = forming.partitions[PLACE]
    partition.loss_to_park = Loss(LossKind.OBJECT_TAKEN, 0, 5)
    await forming._begin_anew(PLACE, UploadLost("gone"))
    assert forming.partitions[PLACE] is partition


def started(forming):
    """Returns the names of the tasks that the forming starts now, none of which runs."""
    names = []

    def note(partition, name, work):
        work.close()
        names.append(name)

    forming._run = note
    forming._start(forming.partitions[PLACE], 1)
    return names


def test_an_object_that_is_read_again_waits_for_records_once_it_was_looked_for(forming):
    sealed = Manifest(0, 3, 3, size_bytes=9, crc32c=7)
    intent = replace(INTENT, tables={"a": sealed}, position=0)
    forming.partitions[PLACE] = partition = held(PLACE, intent, 0)
    assert started(forming) == ["a"]
    forming._open[PLACE, "a", 0] = SimpleNamespace(size_bytes=0)
    assert started(forming) == []
    read = {"a": Part((Logged(0, "a"),))}
    partition.progress.add(np.arange(1), 1, read, 0.0)
    assert started(forming) == ["a"]


async def test_an_object_that_cannot_be_sealed_yet_is_not_tried_at_once_again(forming):
    progress = forming.partitions[PLACE].progress
    read(forming, a=1)
    [(name, draft)] = progress.writable()
    draft.take()
    draft.ending = Ending.AGE
    opened = forming._open[PLACE, name, 0]
    opened.manifest = lambda *_: Manifest(0, 1, 1, size_bytes=9, crc32c=7)

    async def finish():
        pass

    opened.finish, opened.is_finished, opened.dead = finish, True, []
    progress.can_seal = lambda *_: False
    began = time.monotonic()
    await forming._write(forming.partitions[PLACE], name, draft)
    assert time.monotonic() - began >= object_forming.TICK_SECONDS
    assert forming.committer.intents == []


@pytest.mark.parametrize(("left_out", "is_parked"), [(0, False), (1, True)])
async def test_a_replay_that_admits_fewer_records_than_were_sealed_parks(
    forming, left_out, is_parked
):
    """Their schema is gone: they would be in no object, and have no dead letter."""
    sealed = Manifest(0, 2, 2, size_bytes=9, crc32c=7)
    intent = replace(INTENT, tables={"a": sealed}, position=0)
    forming.partitions[PLACE] = partition = held(PLACE, intent, 0)
    read = {"a": Part((Logged(0, "a"), Logged(1, "a")))}
    partition.progress.add(np.arange(2), 2, read, 0.0)
    completed = await made_again(forming, partition, replace(sealed, left_out=left_out))
    assert completed == ([] if is_parked else ["a"])
    loss = partition.loss_to_park
    assert (loss is not None and loss.kind is LossKind.OBJECT_SETTINGS) is is_parked


async def test_an_object_of_which_a_loss_left_a_part_is_looked_for_by_its_name_and_told_of_whole(
    forming,
):
    """Under another name its records would be in the bucket twice."""
    part = Manifest(0, 9, 9, size_bytes=9, crc32c=7).within(4, 6)
    log = {"log_begin": 6, "incarnation": 5}
    intent = replace(INTENT, offset=4, reference=4, tables={"a": part}, position=4, **log)
    forming.partitions[PLACE] = partition = held(PLACE, intent, 0)
    forming.assignment = SimpleNamespace(
        log_fields="feed=f", feed=SimpleNamespace(name="f"), cluster="east"
    )
    forming.store = SimpleNamespace(head=lambda _: Found(9, 7, {}), renew=lambda: None)
    forming.counts = SimpleNamespace(looked=lambda *_: None, completed=lambda *_: None)
    forming.tags = SimpleNamespace(add=lambda *_: None)
    begins = []

    def make(place, name, begin, incarnation):
        begins.append((begin, incarnation))
        return SimpleNamespace(key="k", size_bytes=0)

    forming.make_object = make
    [(name, manifest, draft)] = partition.progress.replays()
    await forming._replay(partition, name, manifest, draft)
    assert begins == [(0, 0)]
    [told] = forming.committer.told
    found = decode(told.key, told.value)
    assert (found.begin, found.end, found.incarnation) == (0, 9, 0)
    # What is behind the cut is read for the next one.
    partition.progress.add(np.arange(4, 8), 8, {"a": Part((Logged(6, "a"),))}, 0.0)
    assert [draft.begin for _, draft in partition.progress.writable()] == [6]


@pytest.mark.parametrize(
    ("left", "is_told"), [((0, 1, 2), False), ((0, 2), True), ((), True)], ids=str
)
async def test_an_object_that_is_made_again_of_fewer_records_is_named(
    forming, caplog, left, is_told
):
    """Also if no record is left: an unclean election may have undone their transaction."""
    sealed = Manifest(0, 3, 3, size_bytes=9, crc32c=7)
    intent = replace(INTENT, tables={"a": sealed}, position=0)
    forming.partitions[PLACE] = partition = held(PLACE, intent, 0)
    read = {"a": Part(tuple(Logged(at, "a") for at in left))} if left else {}
    partition.progress.add(np.array(left, np.int64), 3, read, 0.0)
    await made_again(forming, partition, replace(sealed, records=len(left)))
    told = [it for it in caplog.messages if "event=object-changed" in it]
    assert len(told) == is_told
    assert all(
        f"flights-0 object=k offsets=0-3 records={len(left)} intended=3:" in it for it in told
    )


async def test_an_object_of_which_a_loss_left_a_part_is_not_named_again(forming, caplog):
    part = Manifest(0, 9, 9, size_bytes=9, crc32c=7).within(4, 9)
    intent = replace(INTENT, offset=4, reference=4, tables={"a": part}, position=4)
    forming.partitions[PLACE] = partition = held(PLACE, intent, 0)
    partition.progress.add(np.array([5]), 9, {"a": Part((Logged(5, "a"),))}, 0.0)
    await made_again(forming, partition, replace(part, records=1))
    assert caplog.messages == []


async def made_again(forming, partition, again):
    """Has the sealed object of a partition made again; returns the names of those that were then
    completed.

    Args:
        again: manifest that it has then.
    """
    completed = []

    async def nothing(*_):
        pass

    async def complete(*_):
        completed.append(name)

    forming._complete = complete
    [(name, manifest, draft)] = partition.progress.replays()
    forming._open[PLACE, name, manifest.begin] = SimpleNamespace(
        key="k",
        size_bytes=0,
        write=nothing,
        writer=SimpleNamespace(forming_bytes=lambda *_: 0),
        is_finished=True,
        letters_memory=0,
        finish=nothing,
        upload=SimpleNamespace(send=nothing),
        manifest=lambda *_: again,
    )
    await forming._replay(partition, name, manifest, draft)
    return completed


class Written:
    """Object that is written into no store.

    Args:
        forms: memory for the forms of each write.
        letters: memory of a dead letter for each record.
    """

    def __init__(self, forms=0, letters=0):
        self.key, self.size_bytes, self.is_finished = "k", 0, True
        self.writer = SimpleNamespace(forming_bytes=lambda *_: forms)
        self.upload = SimpleNamespace(send=self.send)
        self.dead, self.letters, self.letters_memory = [], [], 0
        self.may_write = asyncio.Event()
        self.is_writing, self.offsets, self._each = False, [], letters

    async def send(self):
        pass

    async def write(self, slices):
        self.is_writing = True
        await self.may_write.wait()
        self.is_writing = False
        for part in slices:
            self.offsets += part.offset.tolist()
            self.letters_memory += self._each * len(part.offset)


def large(begin, name):
    """Returns a slice that is written alone."""
    return Part((Logged(begin, name, 5, object_forming.TAKEN_BYTES),))


async def test_records_wait_to_be_written_while_the_forms_of_others_fill_the_memory(forming):
    forming._forms.bytes_max = 100
    partition = forming.partitions[PLACE]
    parts = {name: large(at, name) for at, name in enumerate("abc")}
    partition.progress.add(np.arange(3), 3, parts, 0.0)
    opened = {name: Written(forms=60) for name in "ab"} | {"c": Written(forms=40)}
    tasks = []
    for name, draft in partition.progress.writable():
        forming._open[PLACE, name, draft.begin] = opened[name]
        tasks.append(asyncio.create_task(forming._written(partition, name, draft)))
    await asyncio.sleep(0)
    assert {name: each.is_writing for name, each in opened.items()} == {
        "a": True,
        "b": False,
        "c": True,
    }
    for each in opened.values():
        each.may_write.set()
    async with asyncio.timeout(5):
        await asyncio.gather(*tasks)
    assert [each.offsets for each in opened.values()] == [[0], [1], [2]]
    assert forming._forms.size_bytes == 0


async def test_an_object_ends_once_its_dead_letters_fill_their_memory(forming):
    """Otherwise all letters of a partition whose records are refused would be in memory until it
    is complete; those of the records that were read already as well."""
    forming.letters_bytes_max = 250
    partition = forming.partitions[PLACE]
    for at in range(5):
        partition.progress.add(np.arange(at, at + 1), at + 1, {"a": large(at, "a")}, 0.0)
    [(name, draft)] = partition.progress.writable()
    opened = forming._open[PLACE, name, 0] = Written(letters=100)
    opened.may_write.set()
    assert await forming._written(partition, name, draft) is opened
    assert opened.offsets == [0, 1, 2]
    assert (draft.end, draft.ending, draft.is_taken) == (3, Ending.MEMORY, True)
    later = partition.progress._objects["a"].drafts[1]
    assert (later.begin, later.end, later.ending) == (3, 5, None)


async def test_dead_letters_are_produced_while_there_is_room_for_them(forming):
    forming._forms.bytes_max = 100
    forming.assignment = SimpleNamespace(
        log_fields="", feed=SimpleNamespace(name="f"), cluster="east"
    )
    noted = []
    forming.counts = SimpleNamespace(sealed=lambda *_: noted.append(forming._forms.size_bytes))
    partition = forming.partitions[PLACE]
    partition.progress.add(np.arange(1), 1, {"a": large(0, "a")}, 0.0)
    [(name, draft)] = partition.progress.writable()
    draft.take()
    draft.ending = Ending.AGE
    opened = Written()
    opened.dead, opened.letters_memory = [DeadRecord(0, "bad")], 70
    opened.drop_letters = lambda: noted.append("dropped")
    manifest = Manifest(0, 1, 1, size_bytes=9, crc32c=7)
    async with forming._forms.taken(60):
        sealing = asyncio.create_task(forming._sealed(partition, name, draft, manifest, opened))
        await asyncio.sleep(0)
        assert forming.committer.intents == []
    async with asyncio.timeout(5):
        assert await sealing
    assert len(forming.committer.intents) == 1 and noted == [0, "dropped"]


# -- A store is asked again for all that it cannot do now, and not for what it never can.

PAUSES = (0.0001, 0.001)


class Store:
    """Counts how often its credentials are to be read anew."""

    renewed = 0

    def renew(self):
        self.renewed += 1


def answering(*answers):
    """Returns something that meets these answers, and then succeeds."""
    left = list(answers)

    async def act():
        if left:
            raise StoreProblem(left.pop(0), "PutObject")
        return "done"

    return act


async def test_it_is_asked_until_it_has_answered_and_the_log_has_one_line_for_each_trouble(caplog):
    caplog.set_level(logging.INFO)
    store = Store()
    retry = StoreRetry("feed=lake", store, PAUSES)
    act = answering(Answer.BUSY, Answer.BUSY, Answer.DENIED, Answer.DENIED)
    assert await retry.until_done(PLACE, "a", act) == "done"
    events = [record.getMessage().split()[0] for record in caplog.records]
    assert events == ["event=store-waits", "event=store-waits", "event=store-works"]
    assert store.renewed == 2, "credentials are read anew each time that they are refused"


async def test_an_upload_that_is_gone_is_lost():
    retry = StoreRetry("feed=lake", Store(), PAUSES)
    with pytest.raises(UploadLost):
        await retry.until_done(PLACE, "a", answering(Answer.UPLOAD_GONE))

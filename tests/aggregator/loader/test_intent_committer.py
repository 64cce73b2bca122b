"""A commit that fails is told to everyone who waits: to its own callers, and to those who came
while it ran."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace

import pytest

from aggregator.intents.intent import Intent
from aggregator.loader.dead_letters import record_digest
from aggregator.loader.held_partition import HeldPartition
from aggregator.loader.intent_committer import IntentCommitter, IntentRefused
from aggregator.loader.intent_effects import LetterRefused
from aggregator.loader.produced import Produced, RecordPlace
from aggregator.loader.sent_letters import SentLetter, Sight
from aggregator.objects.object_progress import ObjectProgress
from aggregator.objects.rotation import Rotation
from balancer.topic_partition import TopicPartition
from replicator.kafka.client.cluster import Fenced
from replicator.kafka.client.custody import Custody
from replicator.kafka.client.loss import Loss, LossKind

IDENTITY = SimpleNamespace(transactional_id="loader", producer_id=1, epoch=0)


class SlowStore:
    """Commits once it is let, or fails."""

    def __init__(self):
        self.begun, self.end, self.failed = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.error, self.committed = None, []

    async def commit(self, committer, intents, effects=None):
        self.begun.set()
        await self.end.wait()
        if self.error:
            self.failed.set()
            raise self.error
        self.committed.append(sorted(place.partition for place in intents))


def held(number):
    place = TopicPartition("flights", number)
    intent = Intent(custody=Custody.HELD, offset=0, reference=0, transactional_id="loader")
    return HeldPartition(place, intent, ObjectProgress(Rotation(), intent), 0)


async def three_commits(store):
    """Returns a committer, and three commits: one under way, two that wait for it."""
    committer = IntentCommitter(store, IDENTITY, None)
    first = asyncio.create_task(committer.commit(held(0)))
    await store.begun.wait()
    others = [asyncio.create_task(committer.commit(held(number))) for number in (1, 2)]
    await asyncio.sleep(0)
    return committer, [first, *others]


def test_callers_that_come_while_a_commit_runs_share_the_next_one():
    async def play():
        store = SlowStore()
        _, commits = await three_commits(store)
        store.end.set()
        await asyncio.gather(*commits)
        return store.committed

    assert asyncio.run(play()) == [[0], [1, 2]]


def test_a_commit_that_fails_is_told_to_those_who_wait_for_the_next_one():
    """They would wait for ever: nobody begins another one."""

    async def play():
        store = SlowStore()
        _, commits = await three_commits(store)
        store.error = Fenced("another loader has the id")
        store.end.set()
        async with asyncio.timeout(5):
            return await asyncio.gather(*commits, return_exceptions=True)

    assert [type(each) for each in asyncio.run(play())] == [Fenced] * 3


def test_a_failure_that_nobody_waits_for_is_not_complained_about():
    async def play():
        complaints = []
        asyncio.get_running_loop().set_exception_handler(lambda _, it: complaints.append(it))
        store = SlowStore()
        committer, commits = await three_commits(store)
        for each in commits:
            each.cancel()
        await asyncio.gather(*commits, return_exceptions=True)
        store.error = Fenced("another loader has the id")
        store.end.set()
        await store.failed.wait()
        await asyncio.sleep(0)
        del committer, commits, store
        await asyncio.sleep(0)
        return complaints

    assert asyncio.run(play()) == []


def test_whoever_waits_when_the_committer_closes_is_cancelled():
    async def play():
        committer, commits = await three_commits(SlowStore())
        await committer.close()
        async with asyncio.timeout(5):
            return await asyncio.gather(*commits, return_exceptions=True)

    assert [type(each) for each in asyncio.run(play())] == [asyncio.CancelledError] * 3


@pytest.mark.parametrize("fails", [False, True])
def test_a_caller_that_is_cancelled_does_not_take_the_commit_from_the_others(fails):
    async def play():
        store = SlowStore()
        _, commits = await three_commits(store)
        commits[1].cancel()
        store.error = Fenced("another loader has the id") if fails else None
        store.end.set()
        async with asyncio.timeout(5):
            return await asyncio.gather(*commits, return_exceptions=True)

    found = asyncio.run(play())
    assert [type(each) for each in (found[0], found[2])] == [Fenced if fails else type(None)] * 2


def test_no_commit_follows_one_that_failed():
    """An intent would count dead letters that nobody has produced."""

    async def play():
        store = SlowStore()
        store.error = Fenced("another loader has the id")
        store.end.set()
        committer, partition = IntentCommitter(store, IDENTITY, None), held(0)
        with pytest.raises(Fenced):
            await committer.commit(partition)
        store.error = None
        with pytest.raises(Fenced):
            await committer.commit(partition)
        return store.committed

    assert asyncio.run(play()) == []


class RefusingStore:
    """Commits, unless a dead letter of one partition is among the records; notes what is
    committed."""

    def __init__(self, refused=1):
        self.refused, self.committed, self.meanwhile = refused, [], lambda: None

    async def commit(self, committer, intents, effects=None):
        produced = await effects(IDENTITY) if effects else []
        self.meanwhile()
        await asyncio.sleep(0)
        if any(each.of.partition.partition == self.refused for each in produced):
            raise LetterRefused(RecordPlace(TopicPartition("flights", self.refused), 7), "too old")
        parked = {place.partition: each.parked for place, each in intents.items()}
        letters = {place.partition: each.dead_letters for place, each in intents.items()}
        self.committed.append((parked, letters, [each.of for each in produced]))


class PassedOn:
    """Producer that hands its records to the store."""

    def effects(self, committer, records):
        async def send(identity):
            return records

        return send


def letter(number, offset, value=b"v"):
    place, added = TopicPartition("flights", number), (("sluice.cluster", b"east"),)
    of = RecordPlace(place, offset)
    return Produced("sluice.dead.lake", 0, None, None, value, added, of, len(added))


def digest_of(each):
    return record_digest(each.key, each.value, each.headers)


def test_a_refused_dead_letter_stops_its_partition_and_no_other():
    async def play():
        store = RefusingStore()
        committer = IntentCommitter(store, IDENTITY, PassedOn())
        partitions = [held(number) for number in range(3)]
        first, refused, _ = partitions
        commits = [
            asyncio.create_task(committer.commit(each, [letter(at, 7), letter(at, 8)]))
            for at, each in enumerate(partitions)
        ]
        later = []

        def meanwhile():
            if not later:
                for each in (first, refused):
                    letters = [letter(each.partition.partition, 9)]
                    later.append(asyncio.create_task(committer.commit(each, letters)))

        store.meanwhile = meanwhile
        async with asyncio.timeout(5):
            found = await asyncio.gather(*commits, return_exceptions=True)
            found += await asyncio.gather(*later, return_exceptions=True)
            with pytest.raises(IntentRefused):
                await committer.commit(refused)
            await committer.park(refused)
        return found, store.committed

    found, committed = asyncio.run(play())
    wrong = [type(each) for each in found]
    assert wrong == [type(None), IntentRefused, type(None), type(None), IntentRefused]
    together, parked = committed
    # What came while the refused one was tried is counted, and so it is there.
    assert together[:2] == ({0: None, 2: None}, {0: 3, 2: 2})
    assert sorted(each.offset for each in together[2] if each.partition.partition == 0) == [7, 8, 9]
    assert parked == (
        {1: Loss(LossKind.LETTER_REFUSED, 7, 8, "too old")},
        {1: 0},
        [],
    )


def test_a_refused_dead_letter_of_the_only_partition_ends_the_wait():
    async def play():
        store = RefusingStore(refused=0)
        committer, partition = IntentCommitter(store, IDENTITY, PassedOn()), held(0)
        async with asyncio.timeout(5):
            with pytest.raises(IntentRefused, match="too old"):
                await committer.commit(partition, [letter(0, 7)])
            await committer.park(partition)
        return partition, store.committed

    partition, committed = asyncio.run(play())
    assert partition.is_to_park and not partition.is_fetching
    assert len(committed) == 1


class Seen:
    """Topic of dead letters in which some are already.

    Args:
        sent: offsets of the records whose letters no intent counts.
        end: of the topic.
        value: of these records.
    """

    def __init__(self, *sent, end=40, value=b"v"):
        self.sent = {SentLetter(offset, digest_of(letter(0, offset, value))) for offset in sent}
        self.end, self.looks = end, []

    async def look(self, place, intents):
        self.looks.append((place, sorted(intents)))
        said = {it: set(self.sent) for it, each in intents.items() if each.letters_at is not None}
        return Sight(self.end, said)


class Writing(PassedOn):
    """Producer whose records end behind those that were seen."""

    ends = {TopicPartition("sluice.dead.lake", 0): 50}  # noqa: RUF012


class NotingStore:
    """Commits, and notes where intents say that letters are to be looked for, the letters that they
    count, and those that are sent with them."""

    def __init__(self):
        self.committed = []

    async def commit(self, committer, intents, effects=None):
        sent = [each.of.offset for each in await effects(IDENTITY)] if effects else []
        for each in intents.values():
            self.committed.append((each.letters_at, each.dead_letters, sent))


def with_letters(seen, *commits, letters_at=None):
    """Returns what is committed of a partition, by the offsets of the letters of each commit."""
    store, partition = NotingStore(), held(0)
    partition.intent = replace(partition.intent, letters_at=letters_at)
    partition.progress.letters_at = letters_at

    async def play():
        committer = IntentCommitter(store, IDENTITY, Writing(), sent=seen)
        for offsets in commits:
            await committer.commit(partition, [letter(0, each) for each in offsets])

    asyncio.run(play())
    return store.committed


def test_letters_that_a_lost_commit_has_sent_are_counted_and_not_sent_again():
    assert with_letters(Seen(7, 8), (7, 8, 9), (10,), letters_at=30) == [
        (30, 3, [9]),
        (50, 4, [10]),
    ]


def test_another_record_at_the_offset_of_a_sent_letter_has_a_letter_of_its_own():
    """The log was cut below what nobody had sealed: it has the name of before."""
    seen = Seen(7, 8, value=b"of before the cut")
    assert with_letters(seen, (7, 9), (8,), letters_at=30) == [(30, 2, [7, 9]), (30, 3, [8])]


def test_letters_that_are_still_to_come_again_are_looked_for_by_the_next_loader_as_well():
    """It would not find them behind where the letters of now end."""
    assert with_letters(Seen(7, 90), (7, 9), (10,), (90,), (), letters_at=30) == [
        (30, 2, [9]),
        (30, 3, [10]),
        (30, 4, []),
        (50, 4, []),
    ]


def test_an_intent_says_where_to_look_before_the_first_letter_is_sent():
    """A commit that is lost could not say so."""
    assert with_letters(Seen(7), (), (7, 8), (9,)) == [
        (None, 0, []),
        (40, 0, []),
        (40, 2, [7, 8]),
        (50, 3, [9]),
    ]


def test_a_partition_looks_once_and_without_letters_not_at_all():
    seen = Seen()
    with_letters(seen, (), (7,), (8,), letters_at=30)
    assert seen.looks == [(("sluice.dead.lake", 0), [("flights", 0)])]


def test_where_nobody_can_look_all_letters_are_sent():
    class Blind:
        async def look(self, place, intents):
            return None

    assert with_letters(Blind(), (7, 8)) == [(None, 2, [7, 8])]


def test_a_look_that_fails_ends_the_session():
    class Failing:
        async def look(self, place, intents):
            raise Fenced("another loader has the id")

    async def play():
        committer = IntentCommitter(NotingStore(), IDENTITY, Writing(), sent=Failing())
        with pytest.raises(Fenced):
            await committer.commit(held(0), [letter(0, 7)])
        with pytest.raises(Fenced):
            await committer.commit(held(1))

    asyncio.run(play())

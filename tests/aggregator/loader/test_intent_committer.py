"""A commit that fails is told to everyone who waits: to its own callers, and to those who came
while it ran."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from aggregator.intents.intent import Intent
from aggregator.loader.held_partition import HeldPartition
from aggregator.loader.intent_committer import IntentCommitter
from aggregator.objects.object_progress import ObjectProgress
from aggregator.objects.rotation import Rotation
from balancer.plan import TopicPartition
from replicator.kafka.client.cluster import Fenced
from replicator.kafka.client.custody import Custody

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

"""Runs are matched with entries by topic ids, and the highest number of losses counts."""

from dataclasses import replace
from uuid import UUID

from balancer.topic_partition import TopicPartition
from replicator.mirror.ledger.published_runs import losses_after, published_since, runs_key
from replicator.mirror.ledger.stale_entry import PublishedRun
from replicator.mirror.offset_map.runs_tail import LastRun
from tests.replicator.mirror.ledger.held import held

ONE, TWO = TopicPartition("flights", 0), TopicPartition("flights", 1)
ENTRY = held(source_topic=UUID(int=1), target_topic=UUID(int=2), runs=(5, 9))


class Tail:
    """A runs topic in which these runs were published."""

    def __init__(self, published):
        self._published, self.asked = published, []

    async def look(self):
        self.asked.append(None)

    async def published_since(self, positions):
        self.asked.append(positions)
        return self._published


async def test_the_runs_under_the_most_losses_count():
    key = runs_key(ONE, ENTRY)
    published = {replace(key, losses=number): LastRun(number, number) for number in (0, 2, 1)}
    assert await published_since(Tail(published), {ONE: ENTRY}) == {
        ONE: PublishedRun(LastRun(2, 2), 2)
    }


async def test_runs_of_another_topic_of_the_same_name_do_not_match():
    anew = replace(ENTRY, target_topic=UUID(int=3))
    published = {runs_key(ONE, anew): LastRun(1, 1)}
    assert await published_since(Tail(published), {ONE: ENTRY, TWO: ENTRY}) == {}


async def test_reading_begins_where_the_first_of_the_entries_was_committed():
    tail = Tail({})
    await published_since(tail, {ONE: ENTRY, TWO: replace(ENTRY, runs=(7, 3))})
    assert tail.asked == [(5, 3)]


async def test_entries_without_runs_topic_positions_are_not_compared():
    tail = Tail({runs_key(ONE, ENTRY): LastRun(1, 1)})
    assert await published_since(tail, {ONE: replace(ENTRY, runs=())}) == {}
    assert tail.asked == [None]


def test_an_operator_whose_clock_is_behind_an_earlier_ones_still_overrules_the_earlier_runs():
    """An entry that is lost is made anew under the number of seconds of the operator's clock."""
    key = runs_key(ONE, ENTRY)
    an_hour_ahead = replace(key, losses=1_800_003_600)
    assert losses_after([key, an_hour_ahead], key, 1_800_000_000) == 1_800_003_601
    assert losses_after([key], key, 1_800_000_000) == 1_800_000_000
    assert losses_after([], key, 1_800_000_000) == 1_800_000_000


def test_runs_of_other_partitions_and_topics_do_not_raise_the_number_of_losses():
    key = runs_key(ONE, ENTRY)
    others = [runs_key(TWO, ENTRY), runs_key(ONE, replace(ENTRY, target_topic=UUID(int=3)))]
    assert losses_after([replace(it, losses=9) for it in others], key, 7) == 7

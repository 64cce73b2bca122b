"""Renewal: an intent that nobody holds is committed again as it is; a parked one is freed, so that
no loader is fenced for it again."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from uuid import UUID

from aggregator.driver.adoption_memory import NOTED_SECONDS, Remembered
from aggregator.driver.feed_adoption import as_renewed
from aggregator.intents.intent import Intent
from aggregator.intents.table_range import TableRange
from aggregator.verifier.intent_rules import IntentRules
from replicator.config.names import adopted_topic
from replicator.kafka.client.custody import Custody
from replicator.kafka.client.loss import Loss, LossKind
from tests.replicator.batches.source_batches import Record, encoded
from tests.world.kafka import log_losses
from tests.world.kafka.log_batch import Batch
from tests.world.sinks.feeding import Feeding
from tests.world.sinks.loaded_feed import FEED
from tests.world.sinks.sink_loop import SinkLoop, run
from tests.world.world import World

HELD = Intent(
    custody=Custody.HELD,
    offset=10,
    tables={"t": TableRange(10, 20, 10, "h", 1)},
    reference=5,
    count=15,
    producer_id=7,
    epoch=3,
    transactional_id="loader",
)
PARKED = HELD.park(Loss(LossKind.SOURCE_CORRUPT, 20, None, "bad"))


def test_an_intent_is_renewed_as_it_is():
    for intent in (HELD, replace(HELD, custody=Custody.RELEASED, transactional_id="loader.free")):
        assert as_renewed(intent, "free") == intent


def test_a_parked_intent_is_freed_and_keeps_all_else():
    renewed = as_renewed(PARKED, "free")
    assert renewed == replace(PARKED, custody=Custody.RELEASED, transactional_id="free")
    assert as_renewed(renewed, "free") == renewed


def test_the_verifier_finds_nothing_in_a_renewal():
    rules = IntentRules()
    for intent in (HELD, PARKED):
        assert list(rules.between(intent, as_renewed(intent, "free"))) == []


class Latest(Feeding):
    """Feed that begins at the latest records, in a cluster without load."""

    def __init__(self, loop: SinkLoop, patterns: list[str]) -> None:
        super().__init__(World(loop, 1), ["old"], 1, 1, 1, 0, 60.0, start="latest")
        self.select(patterns)

    def select(self, patterns: list[str]) -> None:
        """Has the next driver select the topics of these patterns."""
        [shard] = self.feed.shards
        self.feed = self.feed.model_copy(
            update={"shards": (shard.model_copy(update={"topics": tuple(patterns)}),)}
        )

    async def fill(self, name: str, records: int) -> None:
        """Has a topic with some records."""
        if not self.cluster.knows(name):
            self.cluster.create(name, 1, min_in_sync=1)
        await asyncio.sleep(5.0)
        partition = self.cluster.partition(name, 0)
        assert partition is not None
        data = encoded([Record(at, 1, b"k", b"{}") for at in range(records)])
        partition.append(partition.decided.leader, Batch(0, records, -1, data))

    async def look(self, *, again: bool = False) -> dict[str, int]:
        """Looks for partitions as a driver that starts, or as the one before; returns where those
        of each topic begin."""
        if not again:
            await self.lead()
        found = await self.leadership.partitions()
        intents = await self.intents.read(found[FEED])
        return {place.topic: intent.offset for place, intent in intents.items()}


def test_a_topic_that_was_made_while_no_driver_ran_is_loaded_whole():
    """Ten records of "late" were left out: the next driver took it for one that it found first."""

    async def play(loop: SinkLoop) -> None:
        feed = Latest(loop, ["old", "later?"])
        await feed.fill("old", 3)
        await feed.fill("other", 4)
        await feed.client.open([])
        assert await feed.look() == {"old": 3}
        await feed.fill("late", 10)
        assert await feed.look(again=True) == {"old": 3, "late": 0}
        await feed.leadership.close()
        await feed.fill("later", 10)
        # What comes under the feed by another setting is older than that.
        feed.select([".*"])
        assert await feed.look() == {"old": 3, "late": 0, "later": 0, "other": 4}
        await feed.close()

    run(play)


def test_an_acceptance_beside_the_driver_names_the_log_of_an_intent_that_is_gone():
    """The intent parked with the name of the log before, which the driver had read at its start."""

    async def play(loop: SinkLoop) -> None:
        feed = Latest(loop, ["old"])
        await feed.fill("old", 3)
        await feed.client.open([])
        assert await feed.look() == {"old": 3}
        topic = feed.cluster.partition(adopted_topic(FEED), 0)
        assert topic is not None
        noted = Remembered(UUID(int=1), 7, noted_ms=5, incarnation=9)
        data = encoded([Record(0, 1, b"old/0", noted.encode())])
        topic.append(topic.decided.leader, Batch(0, 1, -1, data))
        log_losses.recreate(feed.cluster, "old")
        await asyncio.sleep(NOTED_SECONDS)  # until the driver looks at all intents again
        found = await feed.leadership.partitions()
        [intent] = (await feed.intents.read(found[FEED])).values()
        assert (intent.parked is not None, intent.incarnation) == (True, 9)
        await feed.close()

    run(play)

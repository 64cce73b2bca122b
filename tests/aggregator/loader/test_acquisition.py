"""Acquisition looks at the log behind the committed offset, too: what is sealed may be stored."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from uuid import UUID

import pytest

from aggregator.intents.intent import Intent
from aggregator.intents.read_times import ReadTime
from aggregator.intents.table_range import TableRange
from aggregator.loader.acquisition import Acquisition
from aggregator.loader.loader_counts import LoaderCounts
from balancer.topic_partition import TopicPartition
from replicator.kafka.client.cluster_metadata import Leader, Topic
from replicator.kafka.client.custody import Custody
from replicator.kafka.client.loss import LossKind

PLACE, TOPIC = TopicPartition("flights", 0), UUID(int=1)
INTENT = Intent(
    custody=Custody.HELD,
    offset=40,
    reference=40,
    transactional_id="loader",
    topic_id=TOPIC,
    leader_epoch=5,
    committed_ms=1,
)
BLOCK = {"a": TableRange(40, 70, 30, "h", 1)}
MARKER = {"b": TableRange(80, 80)}


@dataclass
class Source:
    """A log of 200 offsets, in which epoch 5 ends here."""

    epoch_end_at: int

    def topic(self, name):
        return Topic(TOPIC, {0: self.leader(name, 0)})

    def leader(self, topic, partition):
        return Leader(1, epoch=6)

    async def refresh(self):
        pass

    async def log_start(self, topic, partition):
        return 0

    async def log_end(self, topic, partition):
        return 200

    async def epoch_end(self, topic, partition, epoch):
        return self.epoch_end_at


class Committer:
    transactional_id = "loader"
    producer_id, epoch = 7, 1


@dataclass
class Store:
    intents: dict
    left: dict = field(default_factory=dict)

    async def read(self, places):
        return self.intents

    async def read_as_holder(self, holder, places):
        return self.intents

    async def replace(self, holder, before, new):
        self.intents = new


@pytest.mark.parametrize(
    ("intent", "epoch_end", "cut"),
    [
        (replace(INTENT, tables=BLOCK), 70, None),
        (replace(INTENT, tables=BLOCK), 69, 69),
        (replace(INTENT, tables=BLOCK | MARKER), 79, 79),
        (replace(INTENT, tables=BLOCK | MARKER), 80, None),
        (INTENT, 40, None),
        (INTENT, 39, 39),
        # A version that noted the epoch of what it read again last.
        (replace(INTENT, tables=BLOCK, committed_ms=0), 50, None),
    ],
)
async def test_a_log_that_was_cut_below_a_block_or_marker_parks_its_partition(
    intent, epoch_end, cut
):
    acquisition = Acquisition(
        intent_store=Store({PLACE: intent}),
        source=Source(epoch_end),
        fenced_committer=Committer(),
        committer_of=lambda id_: pytest.fail(id_),
        loader_counts=LoaderCounts(),
    )
    acquired = await acquisition.acquire([PLACE])
    assert (PLACE in acquired.parked) == (cut is not None)
    if cut is not None:
        kind = LossKind.SOURCE_TRUNCATED.value
        assert acquired.parked[PLACE].reason.startswith(f"{kind}: source offsets [{cut}, ")


async def test_what_a_former_version_has_read_counts_as_of_todays_epoch():
    """A former version noted an older epoch than that of its blocks while it read again."""
    store = Store({PLACE: replace(INTENT, tables=BLOCK, committed_ms=0)})
    acquisition = Acquisition(
        intent_store=store,
        source=Source(50),
        fenced_committer=Committer(),
        committer_of=lambda id_: pytest.fail(id_),
        loader_counts=LoaderCounts(),
    )
    taken, _ = (await acquisition.acquire([PLACE])).taken[PLACE]
    assert taken.leader_epoch == store.intents[PLACE].leader_epoch == 6


@pytest.mark.parametrize("ahead_seconds", [3600, -3600])
async def test_records_keep_their_age_whatever_clock_their_loader_had(ahead_seconds):
    now_ms = time.time_ns() // 1_000_000
    committed_ms = now_ms + 1000 * ahead_seconds
    read = ReadTime(40, committed_ms - 8000)
    store = Store({PLACE: replace(INTENT, read_times=(read,), committed_ms=committed_ms)})
    acquisition = Acquisition(
        intent_store=store,
        source=Source(40),
        fenced_committer=Committer(),
        committer_of=lambda id_: pytest.fail(id_),
        loader_counts=LoaderCounts(),
    )
    acquired = await acquisition.acquire([PLACE])
    assert acquired.taken[PLACE][0] == store.intents[PLACE]
    [taken] = store.intents[PLACE].read_times
    assert taken.ms <= time.time_ns() // 1_000_000 - 8000

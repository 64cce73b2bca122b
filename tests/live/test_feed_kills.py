"""Loaders that are killed at each step of a block's way: each record becomes one row, and no intent
shows an anomaly."""

from __future__ import annotations

import signal
import time

import pytest

from deploy.lab.process import Process
from deploy.lab.traffic import Shape
from deploy.lab.wait import until
from replicator.kafka.client.custody import Custody
from tests.live.feed_ground import COLUMNS, FeedGround, documents
from tests.live.feed_oracle import assert_exact
from tests.live.feed_steps import Step, begin_with_end

DIED_SECONDS = 60.0
LEFT, RIGHT = "left", "right"
SMALL = Shape(batch_records=20)


@pytest.fixture
def feed(tmp_path, aggregate, redis, replicated_database, opened):
    """A feed of two tables, named by the header of each record."""
    settings = 'table_from = "header"\nreference_seconds = 1'
    ground = opened.enter_context(
        FeedGround(tmp_path, aggregate, redis, replicated_database, settings=settings)
    )
    for table in (LEFT, RIGHT):
        replicated_database.create_table(table, COLUMNS, order_by="(_offset, _row)")
    ground.lead()
    return ground


def send(feed: FeedGround, count: int, first: int = 0) -> int:
    """Sends records of both tables, mixed; returns the number behind the last one."""
    end = first + count
    left = documents(count, first=first, table=LEFT)
    right = documents(count, first=first, table=RIGHT)
    pairs = enumerate(zip(left, right, strict=True))
    mixed = (pair[number % 5 == 0] for number, pair in pairs)
    feed.send(mixed, SMALL)
    return end


def await_death(process: Process) -> None:
    """Waits until a loader has ended as its step demands."""
    assert until(lambda: not process.is_running(), DIED_SECONDS), process.failure("goes on")
    assert process.wait() == -signal.SIGKILL, process.failure("ended otherwise")


CONSUMING = [
    (Step.INTENT_WANTED, 4),
    (Step.INTENT_COMMITTED, 3),
    (Step.HALF_SENT, 2),
    (Step.BLOCK_SENT, 1),
    (Step.STORED, 3),
    (Step.ACKNOWLEDGED, 2),
    (Step.FLUSH_WANTED, 1),
    (Step.FLUSH_COMMITTED, 1),
]


@pytest.mark.parametrize(("step", "nth"), CONSUMING)
def test_a_loader_that_dies_at_a_step_leaves_each_record_to_be_loaded_once(feed, step, nth):
    sent = send(feed, 200)
    dying = begin_with_end(feed, step, nth)
    while dying.is_running() and sent < 6000:
        sent = send(feed, 40, sent)
        time.sleep(0.25)  # blocks are to be many
    await_death(dying)
    feed.load()
    send(feed, 100, sent)
    assert_exact(feed, LEFT, RIGHT)


REPLAYING = [
    (Step.INTENT_COMMITTED, Step.REPEAT_WANTED),
    (Step.INTENT_COMMITTED, Step.HALF_SENT),
    (Step.INTENT_COMMITTED, Step.STORED),
    (Step.INTENT_COMMITTED, Step.REPEATED),
    (Step.ACKNOWLEDGED, Step.REPEATED),
]


@pytest.mark.parametrize(("first", "again"), REPLAYING)
def test_a_loader_that_dies_in_replay_leaves_its_blocks_to_the_next_one(feed, first, again):
    sent = send(feed, 300)
    await_death(begin_with_end(feed, first))
    await_death(begin_with_end(feed, again))
    feed.load()
    send(feed, 100, sent)
    assert_exact(feed, LEFT, RIGHT)


@pytest.mark.parametrize("step", [Step.RELEASE_WANTED, Step.RELEASED])
def test_a_loader_that_dies_while_it_releases_gives_its_partitions_to_the_next_one(feed, step):
    sent = send(feed, 200)
    dying = begin_with_end(feed, step)
    feed.wait_count(160, LEFT)
    feed.publish()
    await_death(dying)
    feed.load(number=1)
    send(feed, 100, sent)
    assert_exact(feed, LEFT, RIGHT)


@pytest.mark.parametrize("step", [Step.LETTERS_SENT, Step.INTENT_COMMITTED])
def test_dead_letters_are_there_once_whenever_their_loader_dies(feed, step):
    feed.send(documents(40, table=LEFT))
    feed.send(documents(5, table="nobody"))
    await_death(begin_with_end(feed, step, 1 if step is Step.LETTERS_SENT else 2))
    feed.load()
    feed.send(documents(10, first=40, table=LEFT))
    assert_exact(feed, LEFT)
    offsets = [int(headers["sluice.offset"]) for _, headers in feed.dead_letters()]
    assert sorted(offsets) == list(range(40, 45))


def test_the_last_intent_of_a_loader_that_ended_names_no_block(feed):
    send(feed, 200)
    feed.load()
    feed.wait_count(40, RIGHT)
    feed.publish()
    assert until(lambda: feed.intents()[0].custody is Custody.RELEASED, 30)
    assert not feed.intents()[0].tables
    assert_exact(feed, LEFT, RIGHT)

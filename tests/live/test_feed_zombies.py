"""Loaders that are stopped at a step and go on long after another one has taken over: what they
send then changes nothing."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from aggregator.loader.pause_watch import PAUSE_SECONDS
from deploy.lab.process import Process
from deploy.lab.traffic import Shape
from deploy.lab.wait import until
from tests.live.feed_ground import COLUMNS, FeedGround, documents
from tests.live.feed_oracle import assert_exact
from tests.live.feed_steps import Step, begin_with_end
from tests.live.test_feed_kills import await_death

SMALL = Shape(batch_records=20)
WINDOW = 2
STRANGER = (0, "other", None, "", "", 0, 0, 0)
"""Row of no record, whose block wakes replicas."""


@pytest.fixture
def feed(tmp_path, aggregate, redis, replicated_database, opened):
    """A feed whose table remembers few blocks."""
    settings = "reference_seconds = 1\ninsert_timeout_seconds = 4\nretry_seconds_max = 0.5"
    ground = opened.enter_context(
        FeedGround(tmp_path, aggregate, redis, replicated_database, settings=settings)
    )
    replicated_database.create_table(
        ground.topic,
        COLUMNS,
        order_by="(_partition, _offset, _row)",
        settings={"replicated_deduplication_window": WINDOW},
    )
    ground.lead()
    return ground


def await_stop(process: Process) -> None:
    """Waits until a loader has stopped itself at its step."""

    def is_stopped() -> bool:
        assert process.is_running(), process.failure("has ended")
        return Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"

    assert until(is_stopped, 60), process.failure("goes on")


def running(feed: FeedGround) -> int:
    """Returns how many inserts of the feed the servers execute."""
    query = f"SELECT count() FROM system.processes WHERE query_id LIKE 'sluice-{feed.feed}-%'"
    return sum(feed.database.ask(each, query) for each in range(len(feed.database.replicas)))


def remembered(feed: FeedGround) -> int:
    """Returns how many blocks the table remembers."""
    path = f"/tables/1/{feed.database.name}/{feed.topic}/blocks"
    return int(feed.database.ask(0, f"SELECT count() FROM system.zookeeper WHERE path = '{path}'"))


def outlast_memory(feed: FeedGround, first: int) -> int:
    """Loads blocks until the table has forgotten all older ones; returns the next number."""
    number = first
    for _ in range(WINDOW + 2):
        number += feed.send(documents(20, first=number))
        feed.wait_count(number)
    assert until(lambda: remembered(feed) <= WINDOW, 30), remembered(feed)
    return number


def wake(zombie: Process) -> None:
    """Lets a zombie go on, and waits until it has noticed its successor."""
    zombie.send(signal.SIGCONT)
    assert until(lambda: "event=start-over" in zombie.log.read_text(), 60), zombie.failure("?")


def test_a_zombie_that_wakes_up_when_its_block_is_forgotten_repeats_nothing(feed):
    zombie = begin_with_end(feed, Step.INTENT_COMMITTED, 2, signal.SIGSTOP)
    sent = feed.send(documents(200), SMALL)
    feed.wait_count(1)
    sent += feed.send(documents(200, first=sent), SMALL)
    await_stop(zombie)
    stopped_at = time.monotonic()
    feed.load(number=1)
    feed.wait_count(sent)
    outlast_memory(feed, sent)
    assert until(lambda: time.monotonic() > stopped_at + PAUSE_SECONDS, 2 * PAUSE_SECONDS)
    wake(zombie)
    time.sleep(1.0)  # the zombie had its chance
    assert_exact(feed)


@pytest.mark.parametrize("step", [Step.QUERY_SENT, Step.HALF_SENT])
def test_a_zombie_that_has_not_sent_all_its_block_is_waited_for_until_its_server_gives_it_up(
    feed, step
):
    """Such an insert cannot be killed, and by default 18.16 waits 300 s for the rest."""
    zombie = begin_with_end(feed, step, 1, signal.SIGSTOP)
    sent = feed.send(documents(200), SMALL)
    await_stop(zombie)
    assert (running(feed), feed.count()) == (1, 0)
    feed.load(number=1)
    feed.wait_count(sent)
    outlast_memory(feed, sent)
    wake(zombie)
    time.sleep(1.0)  # the zombie had its chance
    assert_exact(feed)


def test_a_block_that_is_forgotten_is_recognized_by_its_rows_in_replay(feed):
    sent = feed.send(documents(100))
    await_death(begin_with_end(feed, Step.STORED))
    with feed.database.client(0, settings={"insert_quorum": 2}) as client:
        rows = [(0, "other", None, "", "", 0, number, 0) for number in range(WINDOW + 2)]
        for row in rows:
            client.execute(f"INSERT INTO {feed.topic} VALUES", [row])
    assert until(lambda: remembered(feed) <= WINDOW, 30), remembered(feed)
    feed.load()
    feed.wait_count(sent + len(rows))
    feed.send(documents(20, first=sent))
    feed.wait_count(sent + 20 + len(rows))
    for replica in range(3):
        assert feed.rows(replica=replica) == feed.wanted()


def test_a_zombie_whose_insert_waits_for_its_quorum_is_waited_for(feed):
    zombie = begin_with_end(feed, Step.BLOCK_SENT, 1, signal.SIGSTOP)
    others = (1, 2)
    for replica in others:
        feed.database.order(replica, f"SYSTEM STOP FETCHES {feed.topic}")
    sent = feed.send(documents(200), SMALL)
    await_stop(zombie)
    feed.load(number=1)
    time.sleep(1.0)  # the successor looks while the insert waits
    feed.database.allow_fetches(feed.topic, *others, wake=[STRANGER])
    feed.wait_count(sent + 1)
    wake(zombie)
    sent += feed.send(documents(50, first=sent))
    feed.wait_count(sent + 1)
    assert_exact(feed)

"""Loaders between real servers: each record becomes a row once, whatever dies."""

from __future__ import annotations

import random
import signal
import time

import pytest

from deploy.lab.traffic import Shape, TrafficRecord
from deploy.lab.wait import until
from replicator.kafka.client.custody import Custody
from tests.live.feed_ground import COLUMNS, FeedGround, documents


@pytest.fixture
def make_feed(tmp_path, aggregate, redis, replicated_database, opened):
    """`make_feed(partitions=2, settings="...")`: a feed whose driver leads, with its table."""

    def make(*, has_table: bool = True, columns: str = COLUMNS, **options: object) -> FeedGround:
        ground = opened.enter_context(
            FeedGround(tmp_path, aggregate, redis, replicated_database, **options)
        )
        if has_table:
            replicated_database.create_table(ground.topic, columns, order_by="(_offset, _row)")
        ground.lead()
        return ground

    return make


def test_every_record_becomes_a_row_on_every_replica(make_feed):
    feed = make_feed(partitions=3)
    feed.send(documents(5000, partitions=3), Shape(codec="lz4", batch_records=100))
    feed.load()
    feed.assert_exact()
    feed.send(documents(500, first=5000, partitions=3))
    feed.assert_exact()


def test_a_loader_that_ends_releases_what_it_has_loaded(make_feed):
    feed = make_feed(partitions=2)
    feed.send(documents(300, partitions=2))
    loading = feed.load()
    feed.wait_count(300)
    feed.publish()
    receipts = loading.result(30)
    assert sum(receipts["rows"].to_pylist()) == 300
    for intent in feed.intents().values():
        assert intent.custody is Custody.RELEASED
        assert not intent.tables
        assert intent.up_to is not None or intent.offset == intent.reference
    feed.send(documents(300, first=300, partitions=2))
    feed.load()
    feed.assert_exact()


def test_a_killed_loader_is_replaced_and_no_row_is_lost_or_doubled(make_feed):
    feed = make_feed(partitions=2)
    chosen = random.Random(7)
    sent = 0
    for _ in range(4):
        process = feed.load_apart()
        sent += feed.send(documents(3000, first=sent, partitions=2), Shape(batch_records=50))
        assert until(lambda: feed.count() > 0, 30)
        time.sleep(chosen.uniform(0.0, 0.6))  # the moment of the kill is what is varied
        process.kill()
    feed.load()
    feed.assert_exact()


def test_a_zombie_that_wakes_up_after_its_takeover_changes_nothing(make_feed):
    feed = make_feed()
    zombie = feed.load_apart()
    feed.send(documents(2000), Shape(batch_records=20))
    assert until(lambda: feed.count() > 0, 30)
    zombie.send(signal.SIGSTOP)
    feed.send(documents(2000, first=2000), Shape(batch_records=20))
    feed.load(number=1)
    feed.assert_exact()
    zombie.send(signal.SIGCONT)
    feed.send(documents(500, first=4000))
    assert until(lambda: "event=start-over" in zombie.log.read_text(), 30)
    feed.assert_exact()


def test_records_of_aborted_transactions_and_tombstones_become_no_rows(make_feed):
    feed = make_feed()
    feed.send(documents(600), Shape(transaction_records=50, abort_every=3, batch_records=10))
    feed.send([TrafficRecord(0, b"gone", None)])
    feed.send(documents(10, first=600))
    feed.load()
    feed.assert_exact()
    feed.publish()
    assert until(lambda: feed.intents()[0].custody is Custody.RELEASED, 30)


def test_records_that_cannot_be_loaded_are_dead_letters_once(make_feed):
    feed = make_feed()
    feed.send(documents(100))
    feed.send([TrafficRecord(0, b"bad", b"{no json", [("origin", b"west")])])
    feed.send(documents(100, first=100))
    feed.load()
    feed.wait_count(200)
    letters = feed.dead_letters()
    assert len(letters) == 1
    value, headers = letters[0]
    assert value == b"{no json"
    assert headers["origin"] == b"west"
    assert headers["sluice.offset"] == b"100"
    assert headers["sluice.table"].decode() == feed.topic
    assert headers["sluice.reason"]
    assert feed.intents()[0].dead_letters == 1


def test_dead_letters_are_counted_over_all_loaders_of_a_partition(make_feed):
    feed = make_feed()
    feed.send([TrafficRecord(0, b"bad", b"{"), TrafficRecord(0, b"bad", b"[")])
    feed.load()
    assert until(lambda: len(feed.dead_letters()) == 2, 30)
    feed.publish()
    assert until(lambda: feed.intents()[0].custody is Custody.RELEASED, 30)
    feed.send([TrafficRecord(0, b"bad", b"{"), *documents(1)])
    feed.load()
    feed.wait_count(1)
    assert until(lambda: len(feed.dead_letters()) == 3, 30)
    assert feed.intents()[0].dead_letters == 3


def test_a_table_that_is_not_there_gives_dead_letters_with_that_reason(make_feed):
    feed = make_feed(has_table=False)
    feed.send(documents(20))
    feed.load()
    assert until(lambda: len(feed.dead_letters()) == 20, 30)
    _, headers = feed.dead_letters()[0]
    assert b"there is no table" in headers["sluice.reason"]


def test_a_feed_that_stops_at_dead_letters_parks_and_goes_on_once_it_is_told_so(make_feed):
    feed = make_feed(settings='dead_letters = "stop"')
    feed.send(documents(50))
    feed.send([TrafficRecord(0, b"bad", b"[1, 2")])
    feed.load()
    assert until(lambda: feed.intents()[0].parked is not None, 30)
    assert feed.intents()[0].parked.begin == 50

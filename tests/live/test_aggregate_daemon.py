"""`sluice aggregate` as operators run it: a process of its own, with real Spark below it."""

from __future__ import annotations

import signal

import pyarrow.dataset as dataset
import pytest

from deploy.lab.process import free_port
from deploy.lab.traffic import Shape
from deploy.lab.wait import until
from replicator.config.topology import load as load_config
from replicator.kafka.client.custody import Custody
from tests.live.feed_ground import COLUMNS, FeedGround, documents
from tests.live.feed_metrics import Scraped
from tests.live.replicate_daemon import aggregate_runs, is_alive

BUSY_SECONDS = 10.0
"""Time that other tests on the same cores may take."""


@pytest.fixture
def feed(tmp_path, aggregate, redis, replicated_database, opened):
    ground = opened.enter_context(
        FeedGround(tmp_path, aggregate, redis, replicated_database, partitions=4)
    )
    replicated_database.create_table(ground.topic, COLUMNS, order_by="(_offset, _row)")
    text = f"[aggregator]\nmetrics_port = {free_port()}\n{ground.config.read_text()}"
    ground.config.write_text(text)
    return ground


@pytest.fixture
def start(feed):
    """`start()`: a run of the daemon for the feed."""
    with aggregate_runs(feed.config) as start:
        yield start


@pytest.mark.core
def test_the_daemon_loads_survives_kills_of_its_parts_and_stops_on_sigterm(feed, start):
    sent = feed.send(documents(4000, partitions=4), Shape(batch_records=50))
    daemon = start()
    daemon.hear(r"event=plan version=\d+ partitions=4")
    feed.wait_count(sent)
    shown = Scraped(feed.feed, load_config(feed.config).aggregator.metrics_port)
    shown.wait(sent, "rows_total", table=feed.topic)
    shown.wait(sent, "records_read_total", topic=feed.topic)
    shown.wait(4, "partitions")
    assert shown.sum("loader_restarts_total") == shown.sum("losses_total") == 0
    victim = next(iter(daemon.workers()))
    sent += feed.send(documents(4000, first=sent, partitions=4), Shape(batch_records=50))
    victim.kill()
    sent += feed.send(documents(1000, first=sent, partitions=4))
    feed.assert_exact()
    # The killed process takes its last second's counts with it; its series go on.
    shown.wait(4, "partitions")
    assert 4000 <= shown.sum("rows_total", table=feed.topic) <= 2 * sent
    workers = daemon.workers()
    (jvm,) = [each for each in daemon.family() if each.name() == "java"]
    jvm.suspend()  # so that it neither ends its Python processes, nor closes their input
    daemon.process.send_signal(signal.SIGKILL)
    assert workers and until(lambda: not any(map(is_alive, workers)), 5 + BUSY_SECONDS)
    jvm.resume()
    assert until(lambda: not any(map(is_alive, daemon.family())), 5 + BUSY_SECONDS)
    sent += feed.send(documents(2000, first=sent, partitions=4))
    again = start()
    again.hear(r"event=plan version=\d+ partitions=4")
    feed.assert_exact()
    again.signal(signal.SIGTERM)
    assert again.ended() == 0
    assert not again.said("event=query-failed")
    assert again.said(
        r"event=blocks epoch=\d+ feed=\S+ cluster=east-aggregate table=\S+ blocks=[1-9]"
    )
    receipts = dataset.dataset(feed.config.parent / "receipts" / "aggregate").to_table()
    assert set(receipts["table"].to_pylist()) == {feed.topic}
    assert {intent.custody for intent in feed.intents().values()} == {Custody.RELEASED}
    assert not any(intent.tables for intent in feed.intents().values())


def test_a_second_daemon_takes_the_feeds_over_and_the_first_ends_with_8(feed, start):
    first = start()
    first.hear(r"event=plan version=\d+ partitions=4")
    sent = feed.send(documents(500, partitions=4))
    feed.wait_count(sent)
    second = start()
    second.hear(r"event=plan version=\d+ partitions=4")
    assert first.ended() == 8
    feed.send(documents(500, first=sent, partitions=4))
    feed.assert_exact()

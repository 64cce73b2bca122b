"""Servers of a shard that die, stop or lose each other while a feed is loaded: each record becomes
one row on every replica, and no intent shows an anomaly."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from deploy.lab.clickhouse_replicas import ClickHouseReplicas
from deploy.lab.process import free_port
from deploy.lab.traffic import Shape
from deploy.lab.wait import until
from tests.live.feed_ground import COLUMNS, FeedGround, documents
from tests.live.feed_oracle import assert_exact
from tests.live.feed_steps import Step, begin_with_end
from tests.live.replicas import Gate, new_database
from tests.live.test_feed_kills import await_death
from tests.live.test_feed_zombies import STRANGER

SMALL = Shape(batch_records=20)
SETTINGS = "reference_seconds = 1\ninsert_timeout_seconds = 4\nretry_seconds_max = 0.5"
SESSION_SECONDS = 3.0


@dataclass(frozen=True)
class Site:
    """A shard whose servers tests kill and stop; all of them run again at the end of each test.

    Args:
        gate: between replica 0 and ZooKeeper.
    """

    replicas: ClickHouseReplicas
    gate: Gate


@pytest.fixture(scope="module")
def site(needs_clickhouse: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    port = free_port()
    replicas = ClickHouseReplicas(
        tmp_path_factory.mktemp("site"), session_seconds=SESSION_SECONDS, zookeeper_ports={0: port}
    )
    with ExitStack() as stack:
        gate = stack.enter_context(Gate(replicas.zookeeper.port, port))
        stack.enter_context(replicas)
        yield Site(replicas, gate)


@pytest.fixture
def feed(tmp_path: Path, aggregate, redis, site: Site, opened: ExitStack) -> FeedGround:
    database = opened.enter_context(new_database(site.replicas))
    ground = opened.enter_context(
        FeedGround(tmp_path, aggregate, redis, database, settings=SETTINGS, partitions=2)
    )
    database.create_table(ground.topic, COLUMNS, order_by="(_partition, _offset, _row)")
    ground.lead()
    return ground


class Load:
    """Records that go on to be sent in the background."""

    def __init__(self, feed: FeedGround) -> None:
        self._feed, self._ending = feed, threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.sent = 0

    def _run(self) -> None:
        while not self._ending.wait(0.4):
            more = documents(40, first=self.sent, partitions=2)
            self.sent += self._feed.send(more, SMALL)

    def begin(self) -> None:
        self._thread.start()
        assert until(lambda: self._feed.count(replica=1) > 0, 60)

    def end(self) -> None:
        self._ending.set()
        self._thread.join()


@contextmanager
def under_load(feed: FeedGround) -> Iterator[Load]:
    """A loader loads what is sent meanwhile; at the end everything is compared."""
    feed.load()
    load = Load(feed)
    load.begin()
    try:
        yield load
    finally:
        load.end()
    assert_exact(feed)


def is_writable(feed: FeedGround, replica: int) -> bool:
    query = f"SELECT is_readonly FROM system.replicas WHERE table = '{feed.topic}'"
    return not feed.database.ask(replica, query)


def await_writable(feed: FeedGround, *replicas: int) -> None:
    for replica in replicas:
        assert until(lambda replica=replica: is_writable(feed, replica), 60)


def live_replicas(feed: FeedGround) -> int:
    """Returns how many replicas ZooKeeper counts as live."""
    query = f"SELECT active_replicas FROM system.replicas WHERE table = '{feed.topic}'"
    return int(feed.database.ask(1, query))


@pytest.mark.parametrize("replica", [0, 2])
def test_a_replica_that_is_killed_and_comes_back_holds_every_row(feed, site, replica):
    with under_load(feed) as load:
        site.replicas[replica].kill()
        before = load.sent
        assert until(lambda: feed.count(replica=1) > before, 60)
        site.replicas[replica].start()
        site.replicas[replica].wait_ready()
        await_writable(feed, replica)


def test_a_replica_that_hangs_is_left_and_catches_up(feed, site):
    with under_load(feed) as load:
        site.replicas[0].pause()
        try:
            before = load.sent
            assert until(lambda: feed.count(replica=1) > before, 60)
        finally:
            site.replicas[0].resume()
        await_writable(feed, 0)


def test_without_zookeeper_blocks_wait(feed, site):
    with under_load(feed):
        site.replicas.zookeeper.pause()
        time.sleep(SESSION_SECONDS + 2.0)  # sessions end
        site.replicas.zookeeper.resume()
        await_writable(feed, 0, 1, 2)


def test_a_zookeeper_that_is_killed_and_started_again_has_forgotten_nothing(feed, site):
    with under_load(feed):
        site.replicas.zookeeper.kill()
        time.sleep(1.0)  # inserts fail
        site.replicas.zookeeper.start()
        site.replicas.zookeeper.wait_ready()
        await_writable(feed, 0, 1, 2)


def test_a_replica_that_is_cut_from_zookeeper_is_left(feed, site):
    with under_load(feed) as load:
        site.gate.shut()
        try:
            before = load.sent
            assert until(lambda: feed.count(replica=1) > before, 60)
        finally:
            site.gate.open()
        await_writable(feed, 0)


@pytest.mark.parametrize("step", [Step.BLOCK_SENT, Step.STORED])
def test_a_loader_and_its_replica_that_die_together_leave_each_record_to_be_loaded_once(
    feed, site, step
):
    for number in (1, 2):
        feed.database.order(number, f"SYSTEM STOP FETCHES {feed.topic}")
    sent = feed.send(documents(300, partitions=2), SMALL)
    dying = begin_with_end(feed, step)
    await_death(dying)
    site.replicas[0].kill()
    for number in (1, 2):
        feed.database.order(number, f"SYSTEM START FETCHES {feed.topic}")
    feed.load()
    assert until(lambda: live_replicas(feed) == 2, 30)
    # Only now may the others give up the block that replica 0 holds; a new block wakes them.
    assert feed.database.insert(1, feed.topic, [STRANGER]) == 0
    assert until(lambda: feed.count(replica=1) >= sent + 1, 90)
    site.replicas[0].start()
    site.replicas[0].wait_ready()
    sent += feed.send(documents(50, first=sent, partitions=2))
    feed.wait_count(sent + 1)
    assert_exact(feed)

"""`sluice aggregate` on Spark executors that are processes of their own: the loss of one of them.

Spark is a local cluster. Under a local master the executor is the driver's own JVM, and dies with
the daemon only.
"""

from __future__ import annotations

import psutil
import pytest

from deploy.lab.wait import until
from replicator.kafka.client.custody import Custody
from tests.live.both_ends import stable_ends
from tests.live.feed_ground import COLUMNS, FeedGround
from tests.live.feed_load import FeedLoad
from tests.live.feed_oracle import assert_exact
from tests.live.replicate_daemon import ReplicateDaemon, is_alive

pytestmark = pytest.mark.timeout(1200)

EXECUTORS = 2
PARTITIONS = 4
RECORDS_PER_SECOND = 400
PATIENCE_SECONDS = 300.0
"""An executor is replaced within seconds, but tests share busy machines."""
IDENTITY = "(_cluster, _topic, _partition, _offset, _row)"
CONTENT = f"(id, name, price, {IDENTITY})"

Holder = tuple[int, int]
"""Producer id and epoch of a loader."""


@pytest.fixture
def feed(tmp_path, aggregate, redis, replicated_database, opened):
    ground = opened.enter_context(
        FeedGround(tmp_path, aggregate, redis, replicated_database, partitions=PARTITIONS)
    )
    replicated_database.create_table(ground.topic, COLUMNS, order_by="(_offset, _row)")
    return ground


@pytest.fixture
def load(feed, opened):
    sending = FeedLoad(
        feed.cluster,
        feed.topic,
        origin="executors",
        partitions=PARTITIONS,
        records_per_second=RECORDS_PER_SECOND,
    )
    return opened.enter_context(sending)


@pytest.fixture
def daemon(feed):
    master = f"local-cluster[{EXECUTORS},1,1024]"
    daemon = ReplicateDaemon(feed.config, "east", 0, master, subcommand="aggregate")
    yield daemon
    daemon.kill()


def executors(daemon: ReplicateDaemon) -> list[psutil.Process]:
    """Returns the JVMs of the daemon's executors."""
    return [p for p in daemon.family() if "CoarseGrainedExecutorBackend" in " ".join(p.cmdline())]


def holders(feed: FeedGround) -> dict[int, Holder]:
    """Returns the loader that holds each partition; without those that nobody holds."""
    return {
        number: (intent.producer_id, intent.epoch)
        for number, intent in feed.intents().items()
        if intent.custody is Custody.HELD
    }


def goes_on(feed: FeedGround) -> bool:
    """Returns True once the intents of all partitions have passed what the topic holds now."""
    ends = stable_ends(feed.cluster, {feed.topic: PARTITIONS})

    def are_past() -> bool:
        intents = feed.intents()
        return all(intents[place.partition].offset >= end for place, end in ends.items())

    return until(are_past, PATIENCE_SECONDS, 0.2)


def test_an_executor_that_is_killed_under_a_running_feed_costs_no_row_and_doubles_none(
    feed, daemon, load
):
    daemon.hear(rf"event=plan version=\d+ partitions={PARTITIONS}", seconds=PATIENCE_SECONDS)
    assert until(lambda: len(holders(feed)) == PARTITIONS, PATIENCE_SECONDS, 0.2), daemon.log
    assert goes_on(feed), feed.intents()
    held = holders(feed)
    victim, survivor = executors(daemon)
    assert len(set(held.values())) == EXECUTORS, held
    victim.kill()
    assert until(lambda: not is_alive(victim), 30)
    assert goes_on(feed), feed.intents()
    taken_over = [number for number, holder in holders(feed).items() if holder != held[number]]
    # The driver plans for the executors that are left, so that more than the victim's may move.
    assert len(taken_over) >= PARTITIONS // EXECUTORS
    assert is_alive(survivor)
    assert until(lambda: len(executors(daemon)) == EXECUTORS, PATIENCE_SECONDS), "not replaced"
    sent = load.stop()
    feed.wait_count(sent, seconds=PATIENCE_SECONDS)
    assert_exact(feed)
    query = f"SELECT (count(), uniqExact({IDENTITY}), sum(cityHash64{CONTENT})) FROM {feed.topic}"
    found = feed.database.on_each(query, feed.topic)
    assert {(rows, identities) for rows, identities, _ in found} == {(sent, sent)}, found
    assert len({content for *_, content in found}) == 1, found
    daemon.signal()
    assert daemon.ended() == 0

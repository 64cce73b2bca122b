"""Loaders with one protection taken out, between real servers: `sluice verify check --rows` speaks.

All protections, in simulated histories, are in tests/test_feed_protections.py.
"""

from __future__ import annotations

from aggregator.loader.intent_committer import IntentCommitter
from aggregator.loader.partition_progress import PartitionProgress
from aggregator.store import shard_store
from aggregator.store.recognition import Decision, Verdict
from aggregator.verifier.check import Check
from bench import without_intents
from deploy.lab.traffic import Shape
from deploy.lab.wait import until
from replicator.kafka.client.custody import Custody
from tests.live.feed_ground import FeedGround, documents
from tests.live.feed_steps import Step, begin_with_end
from tests.live.test_feed_kills import await_death
from tests.live.test_feed_zombies import feed, outlast_memory, remembered

__all__ = ["feed"]  # fixture
SMALL = Shape(batch_records=20)


def speakers(feed: FeedGround) -> set[str]:
    """Ends the loaders, and returns who finds an anomaly: the judge of intents, or that of rows."""
    feed.publish()
    assert until(lambda: feed.intents()[0].custody is Custody.RELEASED, 30), feed.intents()
    appliance = feed.appliance.model_copy(update={"routes": ()})
    found = Check(appliance, "east", 0, 30.0, with_rows=True).run()
    assert not found.problems
    speaking = {"rows"} if any(each.is_different for each in found.row_counts or ()) else set()
    return speaking | ({"intents"} if found.judgements else set())


def test_with_every_protection_nobody_speaks(feed):
    sent = feed.send(documents(200), SMALL)
    await_death(begin_with_end(feed, Step.STORED))
    feed.load()
    feed.send(documents(100, first=sent), SMALL)
    feed.wait_count(sent + 100)
    assert not speakers(feed)


def test_blocks_whose_intent_is_not_committed_first_are_found_twice(feed, monkeypatch):
    sent = feed.send(documents(200), SMALL)
    with monkeypatch.context() as patched:
        patched.setattr(IntentCommitter, "_commit", without_intents._commit)
        loading = feed.load()
        feed.wait_count(sent)
        loading.cancel()  # as if it died
        feed.settle()
    sent += feed.send(documents(100, first=sent), SMALL)
    feed.load(number=1)
    feed.wait_count(sent + 200)
    assert speakers(feed) == {"rows"}


def test_a_forgotten_block_that_is_not_looked_for_is_found_twice(feed, monkeypatch):
    sent = feed.send(documents(200), SMALL)
    await_death(begin_with_end(feed, Step.STORED))
    rows = [(0, "other", None, "", "", 0, number, 0) for number in range(4)]
    for row in rows:
        assert until(
            lambda row=row: feed.database.insert(0, feed.topic, [row], insert_quorum=2) == 0, 30
        )
    assert until(lambda: remembered(feed) <= 2, 30)
    monkeypatch.setattr(shard_store, "decide", lambda *_, **__: Decision(Verdict.INSERT))
    feed.load()
    feed.wait_count(2 * sent + len(rows))
    assert speakers(feed) == {"rows"}


def test_records_that_are_not_counted_are_a_gap(feed, monkeypatch):
    seal = PartitionProgress.seal

    def sealed(progress, draft, *more):
        block = seal(progress, draft, *more)
        progress._count -= 1
        return block

    monkeypatch.setattr(PartitionProgress, "seal", sealed)
    feed.send(documents(200), SMALL)
    feed.load()
    outlast_memory(feed, 200)
    assert speakers(feed) == {"intents"}

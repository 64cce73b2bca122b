"""Loaders into objects with one protection taken out: the comparison of objects and topic speaks,
the judge of intents, or the store, whose names are taken."""

from __future__ import annotations

import pytest

from aggregator.loader import object_forming
from aggregator.loader.intent_committer import IntentCommitter
from aggregator.objects.object_progress import ObjectProgress
from aggregator.s3.object_verdict import Verdict
from bench import without_intents
from deploy.lab.traffic import TrafficRecord
from deploy.lab.wait import until
from replicator.kafka.client.loss import LossKind
from tests.live.feed_oracle import findings
from tests.live.object_commands import sluice
from tests.live.object_proxy import Fault, ObjectProxy
from tests.live.object_steps import Step, begin_with_end
from tests.live.test_feed_kills import await_death
from tests.live.test_object_loading import make_feed, object_server

__all__ = ["make_feed", "object_server"]  # fixtures
HOUR_MS = 3_600_000
BY_HOUR = 'partition_by = "time"\nfolders = "hour=%H"\nobject_records = 10'


@pytest.fixture
def proxy(object_server):
    with ObjectProxy(object_server.port) as opened:
        yield opened


@pytest.fixture
def feed(make_feed, proxy):
    return make_feed(settings=BY_HOUR, endpoint=proxy.url)


def send(feed, count: int, *, every: int = 7) -> None:
    """Sends records of two hours; those of the second, every few records, hold back the offset."""
    feed.send(
        TrafficRecord(0, b"k", b"v", None, HOUR_MS * (480_000 + (at % every == 0)))
        for at in range(count)
    )


def send_rest(feed) -> None:
    """Sends what fills the open objects of both hours."""
    send(feed, 70)


def speakers(feed) -> set[str]:
    """Returns who finds something: the comparison of objects and topic, or the judge of intents."""
    spoken = set()
    try:
        records = feed.records()
        assert len(records) == len({each[:2] for each in records})
        offset = feed.intents()[0].offset
        there = {each.offset for each in records}
        assert {each.offset for each in feed.sent() if each.offset < offset} <= there
    except AssertionError:
        spoken.add("records")
    return spoken | ({"intents"} if findings(feed) else set())


def test_with_every_protection_nobody_speaks(feed):
    send(feed, 25)
    await_death(begin_with_end(feed, Step.COMPLETED))
    feed.load()
    send_rest(feed)
    feed.wait_passed(60, 30)
    assert not speakers(feed)


def take_over_with_other_ends(feed) -> None:
    """Has another loader end objects elsewhere, as one does that ends them by the clock; waits
    until it is parked, as another content has the name of its object."""
    changed = feed.appliance.feed(feed.feed).model_copy(update={"object_records": 9})
    feed.appliance = feed.appliance.model_copy(update={"feeds": {feed.feed: changed}})
    feed.load(number=1)
    send_rest(feed)
    assert until(lambda: feed.intents()[0].parked is not None, 30), feed.intents()
    assert feed.intents()[0].parked.kind is LossKind.OBJECT_TAKEN


def test_objects_that_are_complete_before_their_intent_is_committed_are_in_the_way(
    feed, monkeypatch
):
    with monkeypatch.context() as patched:
        patched.setattr(IntentCommitter, "_commit", without_intents._commit)
        loading = feed.load()
        send(feed, 25)
        feed.wait_objects(2)
        loading.cancel()  # as if it died
        feed.settle()
    take_over_with_other_ends(feed)


def test_a_success_that_is_believed_without_head_loses_records(feed, proxy, monkeypatch):
    monkeypatch.setattr(object_forming, "verdict", lambda *_: Verdict.OURS)
    proxy.order("PutObject", Fault.EMPTY_SUCCESS)
    feed.load()
    send(feed, 25)
    send_rest(feed)
    feed.wait_passed(60, 30)
    assert speakers(feed) == {"records"}
    code, found, _ = sluice(feed, "verify check --region east --rows --since 3650d")
    assert (code, found["tables"][0]["missing"]) == (9, 10), found


def test_a_taker_that_forgets_sealed_objects_is_found(feed, monkeypatch):
    send(feed, 25)
    await_death(begin_with_end(feed, Step.COMPLETED))
    begin = ObjectProgress.__init__

    def begun(progress, *arguments):
        begin(progress, *arguments)
        for each in progress._objects.values():
            each.sealed = each.replay = None

    monkeypatch.setattr(ObjectProgress, "__init__", begun)
    take_over_with_other_ends(feed)
    assert "intents" in speakers(feed)


def test_markers_that_are_not_named_have_records_written_again(feed, monkeypatch):
    monkeypatch.setattr(ObjectProgress, "_named", lambda progress: progress.in_flight)
    loading = feed.load()
    send(feed, 25)
    assert until(lambda: len(feed.told()) == 2, 30)
    loading.cancel()  # as if it died
    feed.settle()
    take_over_with_other_ends(feed)
    assert "intents" in speakers(feed)

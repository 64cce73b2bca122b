"""`sluice aggregate overwrite`: a sealed object is written over the content that an operator has
seen, and over no other."""

from __future__ import annotations

from typing import Any

import pytest
from crc32c import crc32c

from aggregator.loader.loader_assembly import assemble
from aggregator.loader.object_sink import address_of
from aggregator.s3.object_store import Found, ObjectStore, client_of
from deploy.lab.wait import until
from replicator.kafka.client.custody import Custody
from replicator.kafka.client.loss import LossKind
from tests.live.feed_ground import documents
from tests.live.object_commands import about
from tests.live.object_steps import Step, begin_with_end
from tests.live.test_feed_kills import await_death
from tests.live.test_object_loading import make_feed, object_server
from tui.program import run

__all__ = ["make_feed", "object_server"]  # fixtures
OTHER = b"of somebody else"


@pytest.fixture
def feed(make_feed):
    return make_feed(settings="object_records = 7\nobject_age_seconds = 3600.0")


@pytest.fixture
def store(feed):
    return ObjectStore(address_of(feed.assignment().feed))


@pytest.fixture
def key(feed):
    return f"topics/{feed.topic}/partition=0/{feed.topic}+0+0000000007.zstd.parquet"


def lay(store: ObjectStore, key: str, content: bytes = OTHER) -> None:
    """Writes another content under a name, whatever is there."""
    bare = ObjectStore(store.address, has_condition=False)
    bare.put(key, content, crc32c(content), {})


def wait_parked(feed) -> None:
    def is_parked() -> bool:
        feed.raise_failures()
        return feed.intents()[0].parked is not None

    assert until(is_parked, 60), feed.intents()
    assert feed.intents()[0].parked.kind is LossKind.OBJECT_TAKEN


def test_what_is_replaced_is_shown_and_after_the_confirmation_a_running_loader_writes_over_it(
    feed, store, key, capsys
):
    lay(store, key)
    feed.send(documents(14))
    feed.load()
    wait_parked(feed)
    (sealed,) = feed.intents()[0].blocks.values()
    code, found, _ = about(feed, "overwrite")
    (taken,) = found["taken"]
    assert (code, taken["key"], taken["partition"]) == (4, key, 0)
    assert taken["there"]["size_bytes"] == len(OTHER)
    assert taken["there"]["crc32c"] == crc32c(OTHER)
    assert taken["there"]["written_at"].startswith("20")
    assert (taken["sealed"]["begin"], taken["sealed"]["end"]) == (7, 14)
    assert taken["sealed"]["size_bytes"] == sealed.size_bytes
    words = ["aggregate", "overwrite", "--config", str(feed.config), "--feed", feed.feed]
    assert run(words) == 4
    shown = capsys.readouterr().out
    assert f"{len(OTHER)}" in shown and "sealed: offsets [7, 14)" in shown
    assert store.read(key) == OTHER and feed.intents()[0].parked

    code, found, _ = about(feed, "overwrite", "--confirm")
    assert (code, found["left"], [each["key"] for each in found["continued"]]) == (0, [], [key])
    feed.wait_passed(14)
    intent = feed.intents()[0]
    assert (intent.losses, intent.parked) == (1, None)
    assert [each.offset for each in feed.records()] == [*range(14)]
    assert about(feed, "overwrite")[:2] == (0, {"taken": [], "continued": [], "left": []})


def test_a_loader_that_dies_behind_the_overwriting_leaves_the_object_to_the_next_one(
    feed, store, key
):
    lay(store, key)
    feed.send(documents(14))
    feed.load()
    wait_parked(feed)
    feed.publish()  # the loader ends
    assert about(feed, "overwrite", "--confirm")[0] == 0
    await_death(begin_with_end(feed, Step.COMPLETED))
    assert store.read(key) != OTHER
    assert feed.intents()[0].blocks
    feed.load(number=1)
    feed.wait_passed(14)
    assert [each.offset for each in feed.records()] == [*range(14)]


def test_a_content_that_came_behind_the_confirmation_is_not_overwritten(feed, store, key):
    lay(store, key)
    feed.send(documents(14))
    loader = feed.load()
    wait_parked(feed)
    feed.publish()
    assert until(loader.done, 30)
    assert about(feed, "overwrite", "--confirm")[0] == 0
    assert feed.intents()[0].custody is Custody.RELEASED
    lay(store, key, b"yet another")
    loader = feed.load(number=1)
    wait_parked(feed)
    assert store.read(key) == b"yet another"
    feed.publish()
    assert until(loader.done, 30)
    assert about(feed, "overwrite", "--confirm")[0] == 0
    client_of(store.address).delete_object(Bucket=store.address.bucket, Key=key)
    feed.load(number=2)
    feed.wait_passed(14)
    assert [each.offset for each in feed.records()] == [*range(14)]


def test_a_name_that_is_free_again_is_left_to_accept_loss(feed, store, key):
    lay(store, key)
    feed.send(documents(14))
    feed.load()
    wait_parked(feed)
    client_of(store.address).delete_object(Bucket=store.address.bucket, Key=key)
    code, found, _ = about(feed, "overwrite", "--confirm")
    assert code == 5 and "accept-loss" in found["left"][0]["reason"]
    assert about(feed, "accept-loss", "--yes")[0] == 0
    feed.wait_passed(14)
    assert [each.offset for each in feed.records()] == [*range(14)]


class Blind(ObjectStore):
    """Does not see an object at the first look."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.looked: set[str] = set()

    def head(self, key: str) -> Found | None:
        if key in self.looked:
            return super().head(key)
        self.looked.add(key)
        return None


def blind(appliance, assignment, receipts, loader_counts):
    """Returns a session whose looks are blind at first; its requests to write are as ever."""
    session = assemble(appliance, assignment, receipts, loader_counts)
    forming = session.sink.forming
    has_condition = assignment.has_condition
    forming.store = Blind(forming.store.address, has_condition=has_condition)
    return session


def test_without_the_look_the_condition_keeps_what_has_the_name(feed, store, key):
    lay(store, key)
    feed.send(documents(14))
    feed.load(make_session=blind)
    wait_parked(feed)
    assert store.read(key) == OTHER


def test_where_a_store_has_no_condition_the_look_keeps_what_has_the_name(feed, store, key):
    lay(store, key)
    feed.send(documents(14))
    feed.load(has_condition=False)
    wait_parked(feed)
    assert store.read(key) == OTHER
    assert about(feed, "overwrite", "--confirm")[0] == 0
    feed.wait_passed(14)
    assert [each.offset for each in feed.records()] == [*range(14)]


def test_without_both_it_is_overwritten(feed, store, key):
    lay(store, key)
    feed.send(documents(14))
    feed.load(make_session=blind, has_condition=False)
    feed.wait_passed(14)
    assert store.read(key) != OTHER

"""Tags follow the completion of an object; an object stands without."""

from __future__ import annotations

import pytest

from aggregator.loader.object_sink import address_of
from aggregator.s3.object_store import ObjectStore, client_of
from deploy.lab.wait import until
from tests.live.feed_ground import documents
from tests.live.object_proxy import Fault, ObjectProxy
from tests.live.test_object_loading import make_feed, object_server

__all__ = ["make_feed", "object_server"]  # fixtures
TAGGED = 'object_records = 7\ntagging = true\ntags = { team = "air" }'


@pytest.fixture
def proxy(object_server):
    with ObjectProxy(object_server.port) as opened:
        yield opened


def tags(store: ObjectStore, key: str) -> dict[str, str]:
    found = client_of(store.address).get_object_tagging(Bucket=store.address.bucket, Key=key)
    return {each["Key"]: each["Value"] for each in found["TagSet"]}


def test_objects_get_tags_also_after_failures(make_feed, proxy, caplog):
    feed = make_feed(settings=TAGGED + '\ntombstones = "left_out"', endpoint=proxy.url)
    store = ObjectStore(address_of(feed.assignment().feed))
    feed.send(documents(7))
    feed.load()
    feed.wait_passed(7)
    key = f"topics/{feed.topic}/partition=0/{feed.topic}+0+{{:010}}.zstd.parquet"
    own = {"team": "air", "recordCount": "7"}
    first = {**own, "startOffset": "0", "endOffset": "6"}
    assert until(lambda: tags(store, key.format(0)) == first, 30)

    proxy.order("PutObjectTagging", Fault.SLOW_DOWN, times=3)
    feed.send(documents(7, first=7))
    feed.wait_passed(14)
    second = {**own, "startOffset": "7", "endOffset": "13"}
    assert until(lambda: tags(store, key.format(7)) == second, 30)
    assert proxy.done == 3
    assert caplog.text.count("event=tags-fail") == 1
    feed.assert_exact()


def test_a_store_without_tags_is_asked_once(make_feed, proxy, caplog):
    feed = make_feed(settings=TAGGED, endpoint=proxy.url)
    proxy.order("PutObjectTagging", Fault.NOT_IMPLEMENTED)
    feed.load()
    feed.send(documents(14))
    feed.wait_passed(14)
    assert until(lambda: "event=tags-off" in caplog.text, 30)
    feed.send(documents(14, first=14))
    feed.wait_passed(28)
    feed.assert_exact()
    assert len(proxy.sizes("PutObjectTagging")) == 1

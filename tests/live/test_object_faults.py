"""Object servers that fail while loaders write: each record is in one object, and nothing that is
there is overwritten."""

from __future__ import annotations

import logging

import pytest
from crc32c import crc32c

from aggregator.loader.object_sink import address_of
from aggregator.s3.object_store import ObjectStore
from deploy.lab import object_server as lab_server
from deploy.lab.wait import until
from replicator.kafka.client.loss import LossKind
from tests.live.feed_ground import documents
from tests.live.object_proxy import Fault, ObjectProxy
from tests.live.test_object_kills import IN_PARTS, large
from tests.live.test_object_loading import make_feed, object_server

__all__ = ["make_feed", "object_server"]  # fixtures
ANSWERS = [Fault.INTERNAL_ERROR, Fault.SLOW_DOWN, Fault.DISK_FULL, Fault.FOREIGN_PAGE]
FAULTS = {
    "PutObject": [*ANSWERS, Fault.CUT, Fault.LOSE_ANSWER, Fault.EMPTY_SUCCESS, Fault.CONFLICT],
    "HeadObject": [Fault.INTERNAL_ERROR, Fault.FOREIGN_PAGE, Fault.CUT, Fault.LOSE_ANSWER],
}
FAULTS_OF_PARTS = {
    "CreateMultipartUpload": [Fault.SLOW_DOWN, Fault.CUT, Fault.LOSE_ANSWER],
    "UploadPart": [*ANSWERS, Fault.CUT, Fault.LOSE_ANSWER],
    "CompleteMultipartUpload": [
        *ANSWERS,
        Fault.CUT,
        Fault.LOSE_ANSWER,
        Fault.ERROR_IN_SUCCESS,
        Fault.EMPTY_SUCCESS,
        Fault.CONFLICT,
    ],
}


@pytest.fixture
def proxy(object_server):
    with ObjectProxy(object_server.port) as opened:
        yield opened


@pytest.fixture
def feed(make_feed, proxy):
    return make_feed(settings=IN_PARTS, endpoint=proxy.url)


@pytest.mark.parametrize("operation", FAULTS)
def test_after_each_fault_of_a_small_object_it_is_there_once(feed, proxy, operation):
    feed.load()
    for number, fault in enumerate(FAULTS[operation]):
        proxy.order(operation, fault)
        feed.send(documents(7, first=7 * number))
        proxy.wait_done(number + 1)
        feed.wait_passed(7 * number + 7)
    assert len(feed.objects()) == len(FAULTS[operation])
    feed.assert_exact()


@pytest.mark.core
@pytest.mark.parametrize("operation", FAULTS_OF_PARTS)
def test_after_each_fault_of_an_object_in_parts_it_is_there_once(feed, proxy, operation):
    faults = FAULTS_OF_PARTS[operation]
    feed.load()
    for number, fault in enumerate(faults):
        proxy.order(operation, fault, left_out=number % 2 if operation == "UploadPart" else 0)
        feed.send(large(7, first=7 * number))
        proxy.wait_done(number + 1)
        feed.wait_passed(7 * number + 7)
    assert len(feed.objects()) == len(faults)
    feed.assert_exact()


def test_a_store_that_fails_for_long_gets_the_same_bytes_once_it_works(feed, proxy, caplog):
    proxy.order("CompleteMultipartUpload", Fault.SLOW_DOWN, times=4)
    feed.send(large(7))
    feed.load()
    feed.wait_passed(7)
    assert len(proxy.sizes("UploadPart")) == 2
    lines = [r.message for r in caplog.records if "event=store-" in r.message]
    assert len(lines) == 1 and "SlowDown" in lines[0], lines
    feed.assert_exact()


def test_a_partition_whose_request_hangs_does_not_hold_up_the_others(make_feed, proxy):
    feed = make_feed(partitions=2, settings="object_records = 10", endpoint=proxy.url)
    proxy.order("PutObject", Fault.HOLD)
    feed.send(documents(10))
    feed.load()
    feed.send(documents(20, partitions=2))
    proxy.wait_done()
    feed.send(documents(60, partitions=2))
    assert until(lambda: max(each.offset for each in feed.intents().values()) >= 30, 30)
    assert min(each.offset for each in feed.intents().values()) == 0
    proxy.let_go.set()
    feed.wait_passed(90)
    feed.assert_exact()


def test_an_upload_that_is_swept_is_made_anew(feed, proxy):
    store = ObjectStore(address_of(feed.assignment().feed))
    proxy.order("CompleteMultipartUpload", Fault.HOLD)
    feed.send(large(7))
    feed.load()
    proxy.wait_done()
    (swept,) = store.uploads("")
    store.abort(swept.key, swept.upload_id)
    proxy.let_go.set()
    feed.wait_passed(7)
    assert len(proxy.sizes("UploadPart")) == 4
    feed.assert_exact()
    assert not [*store.uploads("")]


def test_parts_that_are_swept_are_uploaded_anew(feed, proxy):
    proxy.order("CompleteMultipartUpload", Fault.HOLD)
    feed.send(large(7))
    feed.load()
    proxy.wait_done()
    (part,) = (feed.bucket / ".sgwtmp" / "multipart").rglob("1")
    part.unlink()
    proxy.let_go.set()
    feed.wait_passed(7)
    assert len(proxy.sizes("UploadPart")) == 4
    feed.assert_exact()


def test_a_server_that_is_killed_within_completions_gets_them_again(feed, proxy, object_server):
    feed.load()
    for number in range(3):
        # The request is on its way when the server dies, and arrives when it is back, or never.
        proxy.order("CompleteMultipartUpload", Fault.HOLD)
        feed.send(large(7, first=7 * number))
        proxy.wait_done(number + 1)
        proxy.let_go.set()
        object_server.process.kill()
        proxy.let_go.clear()
        object_server.start()
        object_server.wait_ready()
        feed.wait_passed(7 * number + 7)
    feed.assert_exact()


def test_a_name_with_another_content_parks_the_partition_and_is_not_overwritten(make_feed):
    feed = make_feed(settings=IN_PARTS.replace("0.3", "3600"))
    store = ObjectStore(address_of(feed.assignment().feed))
    key = f"topics/{feed.topic}/partition=0/{feed.topic}+0+0000000007.parquet"
    store.put(key, b"not ours", crc32c(b"not ours"), {})
    feed.send(large(14))
    feed.load()
    assert until(lambda: feed.intents()[0].parked is not None, 60)
    intent = feed.intents()[0]
    assert (intent.offset, intent.parked.kind) == (7, LossKind.OBJECT_TAKEN)
    assert (intent.parked.begin, intent.parked.end) == (7, 14)
    (sealed,) = intent.blocks.values()
    assert "8 bytes" in intent.parked.detail and str(sealed.size_bytes) in intent.parked.detail
    assert (feed.bucket / key).read_bytes() == b"not ours"
    assert until(lambda: not [*store.uploads("")], 30)


def wait_for(caplog, event: str, words: str) -> None:
    assert until(
        lambda: any(f"event={event}" in r.message and words in r.message for r in caplog.records),
        60,
    ), caplog.text


def test_credentials_that_are_refused_are_read_anew(feed, object_server, monkeypatch, caplog):
    caplog.set_level(logging.INFO)
    feed.load()
    feed.send(documents(7))
    feed.wait_passed(7)
    with monkeypatch.context() as patched:
        patched.setattr(lab_server, "SECRET_KEY", "rotated-secret")
        object_server.process.kill()
        object_server.start()
        object_server.wait_ready()
        feed.send(documents(7, first=7))
        wait_for(caplog, "store-waits", "403")
        assert feed.intents()[0].offset == 7
        patched.setenv("AWS_SECRET_ACCESS_KEY", "rotated-secret")
        feed.wait_passed(14)
        wait_for(caplog, "store-works", "")
    object_server.process.kill()
    object_server.start()
    object_server.wait_ready()
    feed.assert_exact()


def test_a_bucket_that_is_missing_later_is_waited_for(feed, caplog):
    feed.load()
    feed.send(documents(7))
    feed.wait_passed(7)
    hidden = feed.bucket.rename(feed.bucket.with_name(f"{feed.bucket.name}-hidden"))
    feed.send(large(7, first=7))
    wait_for(caplog, "store-waits", "NoSuchBucket")
    assert feed.intents()[0].offset == 7
    hidden.rename(feed.bucket)
    feed.wait_passed(14)
    feed.assert_exact()


def test_an_object_that_was_sealed_under_other_settings_is_not_written_under_another_name(
    feed, proxy
):
    proxy.order("HeadObject", Fault.HOLD)
    feed.send(large(7))
    loader = feed.load_apart()
    proxy.wait_done()
    loader.kill()
    before = feed.objects()
    assert len(before) == 1
    changed = feed.appliance.feed(feed.feed).model_copy(update={"codec": "gzip"})
    feed.appliance = feed.appliance.model_copy(update={"feeds": {feed.feed: changed}})
    proxy.let_go.set()
    feed.load()
    assert until(lambda: feed.intents()[0].parked is not None, 60)
    assert feed.intents()[0].parked.kind is LossKind.OBJECT_SETTINGS
    assert feed.objects() == before

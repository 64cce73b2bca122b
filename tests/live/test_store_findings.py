"""`sluice aggregate check` of feeds into objects: what their store lacks is named with its mend."""

from __future__ import annotations

import pytest

from aggregator.loader.object_sink import address_of, trial_store
from aggregator.objects.prefix_claim import CLAIM, PrefixClaim
from replicator.config.object_feed import ObjectFeed
from tests.live.object_commands import about
from tests.live.object_proxy import Fault, ObjectProxy
from tests.live.test_object_loading import make_feed, object_server
from tests.replicator.config.any_feed import ANY_FEED, ANY_OBJECT_FEED

__all__ = ["make_feed", "object_server"]  # fixtures


@pytest.fixture
def proxy(object_server):
    with ObjectProxy(object_server.port) as opened:
        yield opened


@pytest.fixture
def feed(make_feed, proxy):
    return make_feed(endpoint=proxy.url)


def texts(found, *, mistakes: bool = True) -> list[str]:
    return [each["text"] for each in found["findings"] if each["is_mistake"] is mistakes]


def test_a_sound_store_has_no_mistake_and_nothing_is_written(feed):
    code, found, _ = about(feed, "check")
    assert (code, texts(found)) == (0, []), found
    assert any("is not claimed yet" in text for text in texts(found, mistakes=False))
    assert not [path for path in feed.bucket.rglob("*") if path.is_file()]
    folder = feed.bucket / "topics"
    folder.mkdir(exist_ok=True)
    other = PrefixClaim("pond", "west aggregate", "another-id")
    (folder / CLAIM).write_bytes(other.encode())
    code, found, _ = about(feed, "check")
    assert code == 4
    assert f"says that {other} writes there" in texts(found)[0]


def test_what_is_missing_is_named_with_its_mend(feed, proxy, object_server, monkeypatch):
    proxy.order("HeadObject", Fault.DENIED)
    code, found, _ = about(feed, "check")
    assert code == 4 and "grant s3:ListBucket" in texts(found)[0]
    with monkeypatch.context() as patched:
        patched.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
        code, found, _ = about(feed, "check")
    assert code == 4 and "does not take the credentials" in texts(found)[0]
    feed.bucket.rename(feed.bucket.with_name("hidden-bucket"))
    code, found, _ = about(feed, "check")
    assert code == 4 and "create it, or correct `bucket`" in texts(found)[0]
    proxy.order("GetObject", Fault.SLOW_DOWN)
    code, found, _ = about(feed, "check")
    assert code == 3 and "SlowDown" in found["problems"][0]


def test_a_claim_can_be_read_at_once_whatever_the_storage_class_of_objects_is():
    own = {"shards": (), "storage_class": "GLACIER", "encryption": "AES256"}
    feed = ObjectFeed.model_validate({**ANY_FEED, **ANY_OBJECT_FEED, **own})
    assert trial_store(feed).address.extra == {"ServerSideEncryption": "AES256"}
    assert address_of(feed).extra["StorageClass"] == "GLACIER"

"""`sluice aggregate sweep`: uploads that nothing needs are aborted, and nothing else is touched."""

from __future__ import annotations

import signal

import pytest

from aggregator.loader.object_sink import address_of
from aggregator.objects.prefix_claim import CLAIM, PrefixClaim
from aggregator.s3.object_store import ObjectStore
from aggregator.s3.store_trial import NOWHERE, tried
from deploy.lab.wait import until
from replicator.kafka.admin.admin import Admin
from tests.live.feed_ground import CLUSTER
from tests.live.object_commands import about
from tests.live.object_proxy import Fault, ObjectProxy
from tests.live.object_steps import Step, begin_with_end
from tests.live.test_feed_zombies import await_stop
from tests.live.test_object_kills import large
from tests.live.test_object_loading import make_feed, object_server

__all__ = ["make_feed", "object_server"]  # fixtures
IN_PARTS = "object_records = 7\npart_mib = 5.0\ncodec = 'none'\nobject_age_seconds = 3600.0"


def claiming(make_feed, settings: str, **more: str):
    """Returns a feed that has claimed its prefix, as `sluice aggregate` does."""
    feed = make_feed(settings=settings, **more)
    cluster_id = Admin(CLUSTER, feed.appliance.cluster(CLUSTER), 30.0).cluster_id()
    claim = PrefixClaim(feed.feed, str(CLUSTER), cluster_id)
    tried(ObjectStore(address_of(feed.assignment().feed)), "topics", claim, is_claiming=True)
    return feed


@pytest.fixture
def feed(make_feed):
    return claiming(make_feed, IN_PARTS)


@pytest.fixture
def store(feed):
    return store_of(feed)


def store_of(feed) -> ObjectStore:
    return ObjectStore(address_of(feed.assignment().feed))


def open_keys(store) -> list[str]:
    return sorted(each.key for each in store.uploads(""))


def fates(found) -> dict[str, str]:
    return {each["key"]: each["fate"] for each in found["uploads"]}


def test_only_uploads_of_the_feed_that_nothing_needs_are_aborted(feed, store):
    feed.send(large(7))
    stopped = begin_with_end(feed, Step.SEALED, 1, signal.SIGSTOP)
    await_stop(stopped)
    folder = f"topics/{feed.topic}/partition=0"
    needed = f"{folder}/{feed.topic}+0+0000000000.parquet"
    left_behind = f"{folder}/{feed.topic}+0+0000000007.parquet"
    others = [
        "elsewhere/x+0+0000000000.parquet",
        "topics2/x/partition=0/x+0+0000000000.parquet",
        "topics/other_topic/partition=0/other_topic+0+0000000000.parquet",
        f"{folder}/{feed.topic}+9+0000000000.parquet",
        f"{folder}/part-0000.parquet",
        f"{folder}/_{feed.topic}+0+0000000007.parquet",
    ]
    for key in (left_behind, f"topics/{NOWHERE}", *others):
        store.begin(key, {})
    own = {needed, left_behind, f"topics/{NOWHERE}"}

    code, found, _ = about(feed, "sweep")
    assert code == 0 and set(fates(found).values()) == {"left"}
    code, found, _ = about(feed, "sweep", "--older-than 0.5s")
    assert code == 2
    assert until(lambda: "would be aborted" in set(fates(
        about(feed, "sweep", "--older-than 1s --dry-run")[1]).values()), 30)  # fmt: skip
    assert len(open_keys(store)) == len(own) + len(others)

    code, found, _ = about(feed, "sweep", "--older-than 1s")
    assert code == 0
    told = fates(found)
    assert {key for key, fate in told.items() if fate == "aborted"} == own - {needed}
    assert open_keys(store) == sorted([needed, *others])
    assert {each["reason"] for each in found["uploads"] if each["key"] in others} <= {
        "not of this feed"
    }
    # What was sealed is completed by its upload.
    stopped.send(signal.SIGCONT)
    feed.wait_passed(7)
    feed.assert_exact()
    assert open_keys(store) == sorted(others)


def test_a_sweep_beside_a_loader_has_it_upload_the_same_records_again(make_feed):
    feed = claiming(make_feed, IN_PARTS.replace("= 7", "= 20"))
    store = store_of(feed)
    feed.load()
    feed.send(large(12))
    (key,) = [f"topics/{feed.topic}/partition=0/{feed.topic}+0+0000000000.parquet"]
    assert until(lambda: open_keys(store) == [key], 30)
    (first,) = store.uploads("")
    assert until(
        lambda: fates(about(feed, "sweep", "--older-than 1s")[1]).get(key) == "aborted", 30
    )
    feed.send(large(8, first=12))
    feed.wait_passed(20)
    feed.assert_exact()
    assert first.upload_id not in {each.upload_id for each in store.uploads("")}


def test_a_sweep_that_was_cut_short_goes_on(make_feed, object_server):
    with ObjectProxy(object_server.port) as proxy:
        feed = claiming(make_feed, IN_PARTS, endpoint=proxy.url)
        store = store_of(feed)
        for at in range(5):
            store.begin(f"topics/{feed.topic}/p=0/{feed.topic}+0+{at:010}.parquet", {})
        assert until(lambda: set(fates(
            about(feed, "sweep", "--older-than 1s --dry-run")[1]).values()) == {"would be aborted"},
            30,
        )  # fmt: skip
        aborted = len(proxy.sizes("AbortMultipartUpload"))
        proxy.order("AbortMultipartUpload", Fault.SLOW_DOWN, left_out=2)
        code, _, said = about(feed, "sweep", "--older-than 1s")
        assert code == 3 and "SlowDown" in said
        assert len(open_keys(store)) == 3
        assert about(feed, "sweep", "--older-than 1s")[0] == 0
        assert open_keys(store) == []
        assert len(proxy.sizes("AbortMultipartUpload")) - aborted == 3 + 3


def test_below_a_prefix_that_is_not_claimed_or_another_feeds_nothing_is_swept(feed, store):
    store.begin(f"topics/{feed.topic}/p=0/{feed.topic}+0+0000000000.parquet", {})
    claim = feed.bucket / "topics" / CLAIM
    content = claim.read_bytes()
    claim.unlink()
    code, _, said = about(feed, "sweep", "--older-than 1s")
    assert code == 4 and "the feed has never written there" in said
    claim.write_bytes(content.replace(feed.feed.encode(), b"another"))
    code, _, said = about(feed, "sweep", "--older-than 1s")
    assert code == 4 and "feed another" in said
    claim.write_bytes(b"{}")
    code, _, said = about(feed, "sweep", "--older-than 1s")
    assert code == 4 and "no claim of a feed" in said
    assert len(open_keys(store)) == 1

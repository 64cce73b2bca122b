"""Objects of 90 records of 1 MiB in parts of 25 MiB, as the source tells them, and objects that are
the same whichever loaders are killed."""

from __future__ import annotations

import random

import pytest

from deploy.lab.traffic import Shape, TrafficRecord
from tests.live.feed_ground import documents
from tests.live.object_ground import MIB
from tests.live.object_proxy import Fault, ObjectProxy
from tests.live.object_steps import Step, begin_with_end
from tests.live.test_feed_kills import await_death
from tests.live.test_object_loading import make_feed, object_server

__all__ = ["make_feed", "object_server"]  # fixtures
PARTS = [25 * MIB, 25 * MIB, 25 * MIB, 15 * MIB]
LARGE = 'file = "bytes"\ncodec = "none"\nobject_records = 90\nobject_mib = 200.0'
DAY_MS = 86_400_000


def megabytes(first: int, count: int = 90):
    """Yields values that are 1 MiB in an object, with the separator behind each."""
    for number in range(first, first + count):
        yield f"{number:08}".encode() * (MIB // 8 - 1) + b"1234567"


@pytest.fixture
def proxy(object_server):
    with ObjectProxy(object_server.port) as opened:
        yield opened


@pytest.fixture
def feed(make_feed, proxy):
    """A feed whose committed offset is 180."""
    ground = make_feed(settings=LARGE, endpoint=proxy.url)
    ground.take_large_records()
    ground.send(documents(180))
    return ground


def contents(feed) -> dict[int, bytes]:
    """Returns the content of each object from offset 180 on, by its first offset."""
    return {name.begin: data for name, data in feed.objects().items() if name.begin >= 180}


def content(first: int) -> bytes:
    return b"".join(value + b"\n" for value in megabytes(first))


@pytest.mark.core
def test_ninety_records_are_four_parts_one_object_and_commit_270(feed, proxy):
    feed.load()
    feed.wait_passed(180)
    feed.send_large(megabytes(180))
    feed.wait_passed(270)
    assert feed.intents()[0].offset == 270
    assert proxy.sizes("UploadPart") == PARTS
    assert contents(feed) == {180: content(180)}
    feed.assert_told()


def test_a_crash_between_parts_three_and_four_shows_nothing_and_resumes_at_270(feed, proxy):
    proxy.order("UploadPart", Fault.HOLD, left_out=4 + 3)
    feed.send_large(megabytes(180, 180))
    loader = feed.load_apart()
    proxy.wait_done()
    loader.kill()
    assert proxy.sizes("UploadPart") == PARTS + PARTS
    proxy.let_go.set()
    assert feed.intents()[0].offset == 270
    assert contents(feed) == {180: content(180)}
    feed.load()
    feed.wait_passed(360)
    assert feed.intents()[0].offset == 360
    assert proxy.sizes("UploadPart") == 3 * PARTS
    assert contents(feed) == {180: content(180), 270: content(270)}
    feed.assert_told()


def test_a_lost_commit_at_360_leaves_one_object_and_commits_450(feed, proxy):
    feed.send_large(megabytes(180, 270))
    await_death(begin_with_end(feed, Step.PASS_WANTED, 2 + 3))
    assert feed.intents()[0].offset == 360
    wanted = {first: content(first) for first in (180, 270, 360)}
    assert contents(feed) == wanted
    feed.load()
    feed.wait_passed(450)
    assert feed.intents()[0].offset == 450
    assert proxy.sizes("UploadPart") == 3 * PARTS
    assert contents(feed) == wanted
    feed.assert_told()


def traffic():
    """Yields records of some hours, some of which come late."""
    time_ms, rng = 20_000 * DAY_MS, random.Random(7)
    for number in range(1500):
        time_ms += rng.choice((0, 1000, 20_000))
        late_ms = rng.choice((0, 0, 0, 0, 0, 5_400_000))
        value = b"%d" % number * rng.randrange(9)
        yield TrafficRecord(number % 2, b"key", value, None, time_ms - late_ms)


def fill(feed) -> int:
    """Sends the records, and one behind them that ends all open objects; returns its offsets, of
    both partitions together."""
    feed.send(traffic(), Shape(transaction_records=70, abort_every=6, codec="zstd"))
    feed.send(TrafficRecord(at, b"", b"last", None, 20_100 * DAY_MS) for at in range(2))
    return sum(max(each.offset for each in feed.sent() if each.partition == at) for at in range(2))


@pytest.mark.core
def test_killed_loaders_write_the_objects_that_a_loader_writes_that_lives(make_feed):
    settings = """
partition_by = "time"
folders = "day=%d/hour=%H"
object_records = 60
object_interval_seconds = 9000.0
object_age_seconds = 86400.0
"""
    calm = make_feed(partitions=2, settings=settings)
    end = fill(calm)
    calm.load()
    calm.wait_passed(end)
    shaken = make_feed(partitions=2, settings=settings)
    assert fill(shaken) == end
    rng = random.Random()
    for target in sorted(rng.sample(range(end // 10, end), 4)):
        loader = shaken.load_apart()
        shaken.wait_passed(target)
        loader.kill()
    shaken.load()
    shaken.wait_passed(end)
    wanted = calm.digests()
    assert len(wanted) > 20
    assert shaken.digests() == wanted
    names = [
        {(n.encoded_partition, n.partition, n.begin) for n in each.objects()}
        for each in (calm, shaken)
    ]
    assert names[0] == names[1]
    calm.assert_exact()
    shaken.assert_exact()

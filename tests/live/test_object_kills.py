"""Loaders into objects that are killed or stopped at each step of an object's way: each record is
in one object, and no intent shows an anomaly."""

from __future__ import annotations

import signal

import pytest

from deploy.lab.process import Process
from deploy.lab.traffic import TrafficRecord
from deploy.lab.wait import until
from replicator.kafka.client.custody import Custody
from tests.live.feed_ground import documents
from tests.live.object_steps import Step, begin_with_end
from tests.live.test_feed_kills import await_death
from tests.live.test_feed_zombies import await_stop
from tests.live.test_object_loading import make_feed, object_server

__all__ = ["make_feed", "object_server"]  # fixtures
LARGE = 900_000
"""Bytes of a record; seven of them are an object of two parts."""
IN_PARTS = "object_records = 7\npart_mib = 5.0\ncodec = 'none'\nobject_age_seconds = 0.3"


def large(count: int, first: int = 0):
    """Yields records of which an object needs two parts."""
    for number in range(first, first + count):
        yield TrafficRecord(0, b"%d" % number, f"{number:09}".encode() * (LARGE // 9))


@pytest.fixture
def feed(make_feed):
    """A feed whose objects end by the clock, too: a rerun would end them elsewhere."""
    return make_feed(settings=IN_PARTS)


KILLED = [
    (Step.PARTS_SENT, 2),
    (Step.SEALED, 1),
    (Step.SEALED, 3),
    (Step.COMPLETED, 2),
    (Step.TOLD, 2),
    (Step.PASSED, 2),
]


@pytest.mark.parametrize(("step", "nth"), KILLED)
def test_a_loader_that_dies_at_a_step_leaves_each_record_to_one_object(feed, step, nth):
    feed.send(large(16))
    await_death(begin_with_end(feed, step, nth))
    feed.send(documents(50, first=16))
    feed.load()
    feed.wait_passed(66)
    feed.assert_exact()


@pytest.mark.parametrize("again", [Step.PARTS_SENT, Step.COMPLETED])
def test_a_loader_that_dies_in_replay_leaves_its_object_to_the_next_one(feed, again):
    feed.send(large(10))
    await_death(begin_with_end(feed, Step.SEALED))
    sealed = feed.intents()[0].blocks
    await_death(begin_with_end(feed, again))
    feed.load()
    feed.wait_passed(10)
    feed.assert_exact()
    (wanted,) = sealed.values()
    assert (0, wanted.begin, wanted.end) in feed.digests()


@pytest.mark.parametrize("step", [Step.RELEASE_WANTED, Step.RELEASED])
def test_a_loader_that_dies_while_it_releases_gives_its_partitions_to_the_next_one(feed, step):
    feed.send(large(8))
    dying = begin_with_end(feed, step)
    feed.wait_passed(7)
    feed.publish()
    await_death(dying)
    feed.send(documents(20, first=8))
    feed.load(number=1)
    feed.wait_passed(28)
    feed.assert_exact()


def test_the_end_of_an_epoch_gives_open_objects_up_and_releases_their_partitions(make_feed):
    feed = make_feed(settings=IN_PARTS.replace("0.3", "3600").replace("= 7", "= 20"))
    feed.send(large(20 + 12))
    feed.load()
    feed.wait_passed(20)
    uploads = feed.bucket / ".sgwtmp" / "multipart"
    assert until(lambda: any(uploads.rglob("1")), 30)
    feed.publish()
    assert until(lambda: feed.intents()[0].custody is Custody.RELEASED, 30)
    intent = feed.intents()[0]
    assert (intent.offset, dict(intent.tables)) == (20, {})
    assert until(lambda: not any(uploads.rglob("1")), 30)
    feed.load(number=1)
    feed.send(large(8, first=32))
    feed.wait_passed(40)
    assert len(feed.objects()) == 2
    feed.assert_exact()


def wake(zombie: Process) -> None:
    """Lets a zombie go on, and waits until it has noticed its successor."""
    zombie.send(signal.SIGCONT)
    assert until(lambda: "event=start-over" in zombie.log.read_text(), 60), zombie.failure("?")


STOPPED = [Step.SEAL_WANTED, Step.SEALED, Step.COMPLETED, Step.TOLD]


@pytest.mark.parametrize("step", STOPPED)
def test_a_zombie_that_goes_on_behind_its_successor_changes_nothing(feed, step):
    feed.send(large(10))
    zombie = begin_with_end(feed, step, 1, signal.SIGSTOP)
    await_stop(zombie)
    feed.load(number=1)
    feed.wait_passed(10)
    before = feed.objects()
    feed.assert_exact()
    # A zombie that has nothing to commit notices its successor with the next records.
    feed.send(documents(30, first=10))
    wake(zombie)
    feed.wait_passed(40)
    feed.assert_exact()
    after = feed.objects()
    assert {name: after[name] for name in before} == before


def test_a_zombie_that_completes_what_it_had_sealed_before_its_successor_helps_it(feed):
    """The successor finds the same records under the same name, and passes them."""
    feed.send(large(3))
    zombie = begin_with_end(feed, Step.SEALED, 1, signal.SIGSTOP)
    await_stop(zombie)
    sealed = feed.intents()[0].blocks
    feed.publish()
    zombie.send(signal.SIGCONT)
    feed.wait_objects(1)
    zombie.kill()
    feed.load(number=1)
    feed.wait_passed(3)
    (wanted,) = sealed.values()
    assert (0, wanted.begin, wanted.end) in feed.digests()
    feed.assert_exact()


def test_two_loaders_of_one_partition_write_each_record_once(feed):
    feed.send(large(10))
    rival = feed.load_apart(number=1)
    feed.load()
    for first in range(10, 210, 40):
        feed.send(documents(40, first=first))
        feed.wait_passed(first + 40)
    rival.kill()
    feed.send(documents(10, first=210))
    feed.wait_passed(220)
    feed.assert_exact()

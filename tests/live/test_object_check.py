"""`sluice verify check --objects`: what the store lost, changed, or has beside what was told."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from crc32c import crc32c

from aggregator.intents.intent import Intent
from aggregator.intents.table_range import Manifest
from aggregator.loader.object_sink import address_of
from aggregator.objects.forgotten import Forgotten, Log
from aggregator.objects.object_name import parsed
from aggregator.objects.told_object import ToldObject
from aggregator.objects.told_objects import ToldObjects
from aggregator.s3.object_store import Listed, ObjectStore
from aggregator.verifier.object_check import foreign
from balancer.topic_partition import TopicPartition
from replicator.kafka.client.custody import Custody
from tests.live.feed_ground import documents
from tests.live.object_commands import sluice
from tests.live.object_steps import Step, begin_with_end
from tests.live.test_feed_kills import await_death
from tests.live.test_object_loading import make_feed, object_server
from tui.program import run

__all__ = ["make_feed", "object_server"]  # fixtures
CHECK = "verify check --region east --objects"


@pytest.fixture
def feed(make_feed):
    return make_feed(partitions=2, settings="object_records = 10")


@pytest.fixture
def store(feed):
    return ObjectStore(address_of(feed.assignment().feed))


def checked(feed, more: str = ""):
    """Returns the exit code, and the count of the feed."""
    code, found, _ = sluice(feed, f"{CHECK} {more}")
    (count,) = found["objects"]
    return code, count, found


def test_lost_changed_and_foreign_objects_are_named(feed, store, capsys):
    feed.send(documents(60, partitions=2))
    feed.load()
    feed.wait_passed(60)
    code, count, found = checked(feed)
    assert (code, count["told"], count["examples"]) == (0, 6, []), found
    lost, changed = sorted(name.key for name in feed.objects())[:2]
    (feed.bucket / lost).unlink()
    (feed.bucket / changed).write_bytes(b"other")
    folder = f"topics/{feed.topic}/partition=1"
    foreign = f"{folder}/{feed.topic}+1+0000000015.zstd.parquet"
    for key in (foreign, f"{folder}/part-0001.parquet", f"topics/{feed.topic}/_SUCCESS"):
        store.put(key, b"x", crc32c(b"x"), {})
    code, count, _ = checked(feed)
    assert code == 9
    assert (count["missing"], count["different"], count["foreign"]) == (1, 1, 1)
    text = "\n".join(count["examples"])
    assert f"{lost} is not there" in text and f"{changed} has 5 bytes" in text
    assert f"foreign: {foreign}" in text and "part-0001" not in text
    words = ["verify", "check", "--region", "east", "--objects", "--config", str(feed.config)]
    assert run(words) == 9
    assert f"foreign: {foreign}" in capsys.readouterr().out
    # Other objects are those of a time before.
    assert checked(feed, "--since 2040-01-01T00:00:00Z")[1]["told"] == 0


def test_an_object_that_is_complete_and_not_told_yet_is_not_foreign(feed):
    feed.send(documents(20))
    await_death(begin_with_end(feed, Step.COMPLETED, 2))
    assert len(feed.objects()) == 2 and len(feed.told()) == 1
    code, count, _ = checked(feed)
    assert (code, count["told"], count["foreign"]) == (0, 1, 0)


def test_without_a_look_at_the_intents_an_object_that_is_not_told_yet_would_be_foreign():
    place = TopicPartition("t", 0)
    keys = [f"topics/t/p=0/t+0+{begin:010}.parquet" for begin in (0, 10)]
    listed = [(Listed(key, 1.0), parsed(key, "topics")) for key in keys]
    sealed = Manifest(10, 20, 10, size_bytes=1, crc32c=1)
    before = replace(sealed, begin=0, end=10)
    told = ToldObjects()
    told.take(ToldObject.of(keys[0], "c", place, before, layout="", told_at_ms=0))
    intent = Intent(
        custody=Custody.HELD, offset=10, reference=10, transactional_id="l", tables={"p=0": sealed}
    )
    assert not [*foreign(listed, told, {place: intent}, 0)]
    assert [*foreign(listed, told, {}, 0)] == [keys[1]]
    assert not [*foreign(listed, told, {}, 2000)]
    # A forgotten object that is there again is no object of another sink from before the start.
    (first,) = told.objects
    told = ToldObjects(forgotten={Log("c", "t", 0): Forgotten(Log("c", "t", 0))})
    told.take(told.forgotten[Log("c", "t", 0)].with_objects([first], 1))
    assert [*foreign(listed, told, {}, 0)] == keys
    assert not [*foreign(listed, ToldObjects(), {}, 0)]


def test_objects_of_another_sink_from_before_the_start_are_not_foreign(make_feed):
    feed = make_feed(settings='object_records = 10\nstart = "latest"')
    store = ObjectStore(address_of(feed.assignment().feed))
    before = f"topics/{feed.topic}/partition=0/{feed.topic}+0+0000000000.snappy.parquet"
    store.put(before, b"x", crc32c(b"x"), {})
    feed.send(documents(5))
    feed.load()
    feed.wait_passed(0)
    assert checked(feed)[0] == 0


def test_a_store_that_does_not_answer_is_a_problem(feed, object_server):
    feed.send(documents(20, partitions=2))
    feed.load()
    feed.wait_passed(20)
    object_server.process.kill()
    code, _, found = checked(feed)
    object_server.start()
    object_server.wait_ready()
    assert code == 3
    assert any("ListObjectsV2" in text for text in found["problems"]), json.dumps(found)

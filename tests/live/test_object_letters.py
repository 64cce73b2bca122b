"""Dead letters of objects between real servers: each record is a line or a letter, once."""

from __future__ import annotations

import hashlib
import json
import random
import time

from aggregator.loader import intent_effects
from deploy.lab.traffic import TrafficRecord
from deploy.lab.wait import until
from replicator.config.names import dead_letter_topic
from replicator.kafka.client.loss import LossKind
from tests.live.feed_ground import committed, documents
from tests.live.test_feed_loss_acceptance import accepted
from tests.live.test_object_loading import make_feed, object_server

__all__ = ["make_feed", "object_server"]  # fixtures
LINES = 'file = "json_lines"\ncodec = "none"\nobject_age_seconds = 0.3'
HOURS_MS = 2 * 3_600_000
CARRIERS = ["UA", "AA", "a/b", None]


def value(number: int) -> bytes | None:
    """Returns a value: one in seven is no JSON, and one in eleven a tombstone."""
    if number % 11 == 0:
        return None
    document = json.dumps({"number": number, "carrier": CARRIERS[number % 4]}, indent=1).encode()
    return document[:-1] if number % 7 == 0 else document


def records(first: int, count: int) -> list[TrafficRecord]:
    return [TrafficRecord(n % 2, None, value(n)) for n in range(first, first + count)]


def test_a_killed_loader_repeats_no_line_and_no_dead_letter(make_feed):
    feed = make_feed(
        partitions=2,
        settings="""
file = "json_lines"
codec = "none"
partition_by = "field"
fields = ["carrier"]
tombstones = "dead_letters"
object_records = 70
object_age_seconds = 0.5
""",
    )
    loader = feed.load_apart()
    sent = 0
    for _ in range(4):
        feed.send(records(sent, 1000))
        sent += 1000
        feed.wait_passed(random.randrange(sent - 900, sent))
        loader.kill()
        loader = feed.load_apart()
    feed.wait_passed(sent)
    lines = [line for data in feed.objects().values() for line in data.splitlines()]
    letters = feed.dead_letters()
    wanted = [value(number) for number in range(sent)]
    # Each value that is written has its number, so that none can stand for another.
    assert sorted(lines) == sorted(
        each.replace(b"\n", b" ") for each in wanted if each and each.endswith(b"}")
    )
    assert sorted(each or b"" for each, _ in letters) == sorted(
        each or b"" for each in wanted if not each or not each.endswith(b"}")
    )
    places = {(each["sluice.partition"], each["sluice.offset"]) for _, each in letters}
    assert len(places) == len(letters)
    assert sum(each.dead_letters for each in feed.intents().values()) == len(letters)
    folders = {name.encoded_partition for name in feed.objects()}
    assert folders == {
        "carrier=UA",
        "carrier=AA",
        "carrier=a%2Fb",
        "carrier=__HIVE_DEFAULT_PARTITION__",
    }
    told = feed.told().values()
    assert sum(each.left_out for each in told) == len(letters)
    assert sum(each.records for each in told) == sent
    feed.assert_told()


def test_a_dead_letter_is_its_record_whatever_that_has(make_feed):
    feed = make_feed(settings=LINES)
    for name in ("message.timestamp.after.max.ms", "message.timestamp.before.max.ms"):
        feed.set_config(feed.topic, name, str(2**63 - 1))
    now_ms = time.time_ns() // 1_000_000
    headers = [
        ("tracestate", b"a" * 107),
        ("content-type", b"text/plain"),
        ("none", None),
        ("", b""),
        ("many", bytes(range(256)) * 40),
    ]
    odd = [
        TrafficRecord(0, b"key", b"no JSON", headers),
        TrafficRecord(0, None, b"no JSON", None, now_ms + HOURS_MS),
        TrafficRecord(0, b"", b"no JSON", headers * 40, 5),
    ]
    large = b"no JSON " * (17 << 17)
    feed.send([*odd, *documents(100)])
    feed.send_large(iter([large]), "zstd")
    feed.send(documents(100, first=100))
    feed.load()
    feed.wait_passed(204)
    found = {}
    for message in committed(feed.cluster, dead_letter_topic(feed.feed)):
        added = dict(message.headers())
        found[int(added["sluice.offset"])] = message, added
        assert abs(message.timestamp()[1] - now_ms) < 300_000
    assert found.keys() == {0, 1, 2, 103}
    for offset, record in enumerate(odd):
        message, added = found[offset]
        own = record.headers or []
        assert (message.key(), message.value()) == (record.key, record.value)
        assert (message.headers() or [])[: len(own)] == own
        assert record.timestamp_ms in (None, int(added["sluice.timestamp"]))
    message, added = found[103]
    assert int(added["sluice.value.bytes"]) == len(large) > len(message.value()) > 15 << 20
    assert large.startswith(message.value())
    assert added["sluice.value.sha256"].decode() == hashlib.sha256(large).hexdigest()
    assert feed.intents()[0].dead_letters == 4
    feed.assert_told()


def test_a_dead_letter_that_its_topic_never_takes_parks_its_partition_and_no_other(
    make_feed, monkeypatch
):
    feed = make_feed(partitions=2, settings=LINES)
    letters = dead_letter_topic(feed.feed)
    feed.set_config(letters, "cleanup.policy", "compact")  # refuses records without a key
    feed.set_config(letters, "max.message.bytes", "5000")
    feed.send(documents(100, partitions=2))
    feed.send([TrafficRecord(0, b"key", b"no JSON" * 9000), TrafficRecord(1, None, b"no JSON")])
    feed.send(documents(100, partitions=2))
    feed.load()
    feed.wait_passed(101)
    assert until(lambda: feed.intents()[1].parked, 30)
    loss = feed.intents()[1].parked
    assert (loss.kind, loss.begin, loss.end) == (LossKind.LETTER_REFUSED, 50, 51)
    assert "INVALID_RECORD" in loss.detail
    (parked,) = accepted(feed, is_accepting=False).parked
    assert (parked.partition.partition, parked.reason) == (1, str(loss))
    ((value, added),) = feed.dead_letters()
    assert added["sluice.value.bytes"] == b"63000" and value.startswith(b"no JSON")
    feed.set_config(letters, "cleanup.policy", "delete")
    accepted(feed)
    feed.wait_passed(202)
    assert {int(each["sluice.partition"]) for _, each in feed.dead_letters()} == {0, 1}
    assert [each.dead_letters for _, each in sorted(feed.intents().items())] == [1, 1]
    feed.assert_told()
    # Somebody deletes the topic.
    monkeypatch.setattr(intent_effects, "MISSING_SECONDS", 1.0)
    admin = feed.cluster.admin()
    admin.delete_topics([letters])[letters].result(30)
    feed.send([TrafficRecord(1, b"key", b"no JSON"), *documents(10)])
    assert until(lambda: feed.intents()[1].parked, 30)
    assert f"{letters} is missing" in feed.intents()[1].parked.detail
    feed.wait_passed(212)

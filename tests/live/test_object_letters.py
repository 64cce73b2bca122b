"""Dead letters of objects between real servers: each record is a line or a letter, once."""

from __future__ import annotations

import json
import random

from deploy.lab.traffic import TrafficRecord
from tests.live.test_object_loading import make_feed, object_server

__all__ = ["make_feed", "object_server"]  # fixtures
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

"""The demo's records are the real ones: every row once, with its own time, in its own region."""

import json
from datetime import UTC, datetime

import pytest

from deploy.lab.flights import TOPICS

BY_NAME = {topic.name: topic for topic in TOPICS}


@pytest.fixture(scope="module")
def flights():
    return {region: list(BY_NAME["flights"].records(region)) for region in ("west", "east")}


def test_every_flight_leaves_from_one_region(flights):
    assert sum(map(len, flights.values())) == 336_776
    assert {json.loads(r.value)["origin"] for r in flights["west"][:2000]} == {"EWR", "JFK"}
    assert {json.loads(r.value)["origin"] for r in flights["east"][:2000]} == {"LGA"}


def test_records_carry_the_time_of_departure_and_not_of_loading(flights):
    first = flights["west"][0]
    value = json.loads(first.value)
    assert (value["carrier"], value["flight"], first.key) == ("UA", 1545, b"N14228")
    departed_at = datetime(2013, 1, 1, 10, 15, tzinfo=UTC)
    assert first.timestamp_ms == departed_at.timestamp() * 1000


def test_a_flight_without_a_plane_has_no_key(flights):
    without = [r for r in flights["west"] if r.key is None]
    assert without
    assert all(json.loads(r.value)["tailnum"] is None for r in without)
    assert all(r.key == json.loads(r.value)["tailnum"].encode() for r in flights["west"][:1000])


def test_no_record_of_one_region_is_also_one_of_the_other():
    for name in ("planes", "airlines", "weather"):
        west, east = (
            {(r.key, r.value, tuple(r.headers or ())) for r in BY_NAME[name].records(region)}
            for region in ("west", "east")
        )
        assert west
        assert east
        assert not west & east


def test_topics_differ_in_partitions_and_codec():
    assert len({topic.partitions for topic in TOPICS}) == len(TOPICS)
    assert {topic.codec for topic in TOPICS} == {"none", "gzip", "snappy", "lz4", "zstd"}

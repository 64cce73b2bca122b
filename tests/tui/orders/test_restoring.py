"""Restoring: a command line becomes a job that another run of it finds again."""

import pytest

from aggregator.restore.restore_range import BadRange, OffsetRange
from replicator.audit.window import BadWindow
from replicator.config.topology import load
from tui.orders.restoring import group_offsets_of, restore_range, restore_request

CONFIG = """
[regions.west]
redis = "redis://127.0.0.1:1"
regional.bootstrap = ["127.0.0.1:1"]
aggregate.bootstrap = ["127.0.0.1:2"]
[regions.east]
redis = "redis://127.0.0.1:2"
regional.bootstrap = ["127.0.0.1:3"]
aggregate.bootstrap = ["127.0.0.1:4"]
[feeds.lake]
kind = "s3"
region = "east"
bucket = "air"
clusters = ["east aggregate"]
[feeds.lakes]
kind = "s3"
region = "east"
bucket = "air"
prefix = "{cluster}"
clusters = ["east regional", "west regional"]
"""
WHOLE = restore_range((), None, None)


@pytest.fixture(scope="module")
def appliance(tmp_path_factory):
    file = tmp_path_factory.mktemp("config") / "appliance.toml"
    file.write_text(CONFIG)
    return load(file)


def test_a_range_is_of_offsets_and_of_instants():
    found = restore_range(("3:5-9",), "2026-11-22T03:00:00Z", None)
    assert dict(found.offsets) == {3: OffsetRange(5, 9)}
    assert (found.since_ms, found.until_ms) == (1_795_316_400_000, None)


@pytest.mark.parametrize(
    ("offsets", "since", "until", "error", "text"),
    [
        ((), "10m", None, BadRange, "name an instant"),
        ((), None, "yesterday", BadWindow, "instant"),
        ((), "2026-11-22T03:00:00Z", "2026-11-22T03:00:00Z", BadRange, "is empty"),
        (("3",), None, None, BadRange, "no range"),
    ],
)
def test_a_range_that_another_run_would_read_otherwise_is_refused(
    offsets, since, until, error, text
):
    with pytest.raises(error, match=text):
        restore_range(offsets, since, until)


def test_source_and_target_have_defaults(appliance):
    found = restore_request(appliance, appliance.feed("lake"), None, "flights", None, None, WHOLE)
    assert (found.source, found.target) == ("east aggregate", "east aggregate")
    assert (found.topic, found.target_topic) == ("flights", "flights")
    found = restore_request(
        appliance,
        appliance.feed("lakes"),
        "west regional",
        "flights",
        "west aggregate",
        "again",
        WHOLE,
    )
    assert (found.source, found.target) == ("west regional", "west aggregate")
    assert found.target_topic == "again"


@pytest.mark.parametrize(
    ("feed", "source", "target", "text"),
    [
        ("lakes", None, None, "name a --cluster"),
        ("lake", "west aggregate", None, "reads east aggregate, not west aggregate"),
        ("lake", None, "north aggregate", "no cluster north aggregate; known: .*west aggregate"),
    ],
)
def test_a_cluster_that_is_none_of_the_feed_or_the_configuration_is_named(
    appliance, feed, source, target, text
):
    with pytest.raises(BadRange, match=text):
        restore_request(appliance, appliance.feed(feed), source, "flights", target, None, WHOLE)


def test_offsets_of_a_group_are_pairs():
    assert group_offsets_of(["3:42", "3:43"]) == [(3, 42), (3, 43)]
    for text in ("3", "3:", "x:1", "3:-1"):
        with pytest.raises(BadRange, match="no offset"):
            group_offsets_of([text])

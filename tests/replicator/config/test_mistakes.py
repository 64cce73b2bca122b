"""Mistakes name their path, and the key that was probably meant."""

import pickle

import pytest
from pydantic import ValidationError

from replicator.config.feed_settings import Shard
from replicator.config.mistakes import (
    ConfigMistakes,
    Mistake,
    dotted,
    table_at,
    translate,
    unknown_key,
)
from replicator.config.object_feed import ObjectFeed
from replicator.config.settings import ReplicatorSettings, TopicSettings
from replicator.config.topology import Appliance, KafkaCluster


def test_a_path_is_written_as_in_the_file() -> None:
    assert dotted(("regions", "west", "bootstrap", 0)) == "regions.west.bootstrap[0]"
    assert dotted(("routes", 2)) == "routes[2]"
    assert dotted(()) == ""


def test_the_table_at_a_path_is_found_through_named_tables() -> None:
    assert table_at(("regions", "west", "regional"), Appliance) is KafkaCluster
    assert table_at(("replicator",), Appliance) is ReplicatorSettings
    assert table_at(("feeds", "flights", "kind=clickhouse", "shards", 0), Appliance) is Shard
    assert table_at(("feeds", "flights", "kind=s3"), Appliance) is ObjectFeed
    assert table_at(("regions", "west", "redis"), Appliance) is None
    assert table_at(("nowhere", "at", "all"), Appliance) is None


def test_an_unknown_key_suggests_the_nearest_known_one() -> None:
    mistake = unknown_key(("replicator", "epoch_secs"), Appliance)
    assert str(mistake) == "replicator.epoch_secs: unknown key; did you mean 'epoch_seconds'?"


def test_an_unknown_key_near_to_none_lists_the_known_ones() -> None:
    mistake = unknown_key(("metrics", "colour"), Appliance)
    assert mistake.text == "unknown key; known here: address, port"


def test_every_mistake_is_listed_once_and_in_order() -> None:
    first, second = Mistake("a", "wrong"), Mistake("b", "wrong")
    error = ConfigMistakes("x.toml", [second, first, second])
    assert error.mistakes == (first, second)
    assert str(error) == "x.toml: 2 mistakes\n  a: wrong\n  b: wrong"


def test_the_error_survives_a_trip_between_processes() -> None:
    error = ConfigMistakes("x.toml", [Mistake("a", "wrong")])
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_contradictions_of_a_table_become_one_mistake_each() -> None:
    with pytest.raises(ValidationError) as caught:
        TopicSettings(allow=(), replication_factor=0)
    paths = [mistake.path for mistake in translate(caught.value, TopicSettings)]
    assert paths == ["replication_factor", "allow"]

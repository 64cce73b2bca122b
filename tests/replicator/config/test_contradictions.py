"""Mistakes and contradictions of a configuration, found before anything starts."""

import pickle
from pathlib import Path

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
from tests.replicator.config.test_feed_contradictions import archive, feed, mistakes, shards
from tests.replicator.config.test_topology import SOUND

# -- Each contradiction is found when it alone is wrong in a file, before anything starts.

LONG = "x" * 101
SECURITY = "[regions.west.regional.security]\n"
EARLIER = SOUND + feed("a") + archive("lake")
"""Sound tables, which the contradictory one is added to."""
OF_TABLES = [
    ("routes", "routes = []\n" + EARLIER),
    ("routes[0]", 'routes = ["west>north"]\n' + SOUND),
    ("routes[1]", 'routes = ["west>west", "west>west"]\n' + SOUND),
    ("regions.east.regional.bootstrap", SOUND.replace('"d:1"', '"A:1"')),
    ("regions.West", SOUND.replace("regions.west", "regions.West")),
    (f"regions.{LONG}", SOUND.replace("regions.west", f"regions.{LONG}")),
    ("regions.east.name", SOUND + 'name = "east"\n'),
    ("regions.feed", SOUND.replace("regions.east", "regions.feed") + feed()),
    ("balance.routes.west>north", SOUND + '[balance.routes."west>north"]\ncarriers_min = 2\n'),
    ("offsets.metrics_port", SOUND + "[metrics]\nport = 7\n[offsets]\nmetrics_port = 7\n"),
    ("feeds.a.name", EARLIER.replace("[feeds.a]", '[feeds.a]\nname = "a"')),
    ("feeds.A", SOUND + feed("A")),
    (f"feeds.{LONG}", SOUND + feed(LONG)),
    ("feeds.b.region", SOUND + feed("b").replace('region = "west"', 'region = "north"')),
    ("feeds.b.clusters[0]", SOUND + feed("b", '"north regional"')),
    ("feeds.b.clusters[1]", SOUND + feed("b", '"west aggregate", "east aggregate"')),
    ("feeds.b.block_mib", SOUND + feed("b", more="block_mib = 513.0")),
    ("feeds.b.reference_seconds", SOUND + feed("b", more="reference_seconds = 600.0")),
    ("feeds.b.part_mib", SOUND + archive("b", more="part_mib = 256.5")),
    ("feeds.flights.shards[0].topics[0]", SOUND + shards('"sluice.runs"')),
    ("feeds.flights.shards[1].topics[0]", SOUND + shards('".*"', '"a"')),
    ("feeds.b.shards[0].topics[0]", EARLIER + feed("b")),
    ("feeds.pond.topics[0]", EARLIER + archive("pond")),
]
"""(path, file) of contradictions between tables."""
WITHIN_A_TABLE = [
    ("topics.replication_factor", SOUND + "[topics]\nreplication_factor = 0\n"),
    ("topics.allow", SOUND + "[topics]\nallow = []\n"),
    ("topics.synced_configs", SOUND + '[topics]\nsynced_configs = ["compression.type"]\n'),
    ("replicator.drain_seconds", SOUND + "[replicator]\nepoch_seconds = 2.0\n"),
    (
        "replicator.word_poll_seconds",
        SOUND + "[replicator]\nepoch_seconds = 1.0\ndrain_seconds = 0.5\nword_poll_seconds = 1.0\n",
    ),
    ("replicator.request_timeout_ms", SOUND + "[replicator]\ntransaction_timeout_ms = 10000\n"),
    ("balance.fresh_seconds", SOUND + "[balance]\nfresh_seconds = 29.0\n"),
    ("balance.carriers_max", SOUND + "[balance]\ncarriers_min = 4\ncarriers_max = 3\n"),
    ("balance.history_clickhouse", SOUND + '[balance]\nhistory = "clickhouse"\n'),
    (
        "balance.routes.west>east.carriers_max",
        SOUND + '[balance.routes."west>east"]\ncarriers_min = 4\ncarriers_max = 3\n',
    ),
    ("regions.west.regional.security.username", SOUND + SECURITY + 'username = "u"\n'),
    (
        "regions.west.regional.security.key_file",
        SOUND + SECURITY + 'protocol = "tls"\ncertificate_file = "file"\n',
    ),
    ("feeds.b.retry_seconds", SOUND + feed("b", more="retry_seconds = 20.0")),
    ("feeds.b.block_seconds", SOUND + feed("b", more="block_seconds = 60.0")),
    ("feeds.b.schemas", SOUND + feed("b", more='format = "avro"')),
    ("feeds.b.shards[0].quorum", SOUND + feed("b") + "quorum = 2\n"),
    ("feeds.b.shards[0].replicas", SOUND + feed("b", replica="h/database")),
    ("feeds.b.shards[0].ca_file", SOUND + feed("b") + 'ca_file = "file"\n'),
    (
        "feeds.b.shards",
        SOUND + archive("b", more='[[feeds.b.shards]]\nreplicas = ["clickhouse://h"]'),
    ),
    ("feeds.b.dead_letters", SOUND + archive("b", more='dead_letters = "stop"')),
    ("feeds.b.codec", SOUND + archive("b", more='codec = "deflate"')),
    ("feeds.b.prefix", SOUND + archive("b", '"west regional", "east regional"')),
    ("feeds.b.encryption_key", SOUND + archive("b", more='encryption_key = "k"')),
]
"""(path, file) of contradictions between values of one table."""


@pytest.mark.parametrize(("path", "text"), OF_TABLES + WITHIN_A_TABLE)
def test_a_contradiction_alone_in_a_file_is_found(tmp_path: Path, path: str, text: str) -> None:
    (tmp_path / "file").write_text("")
    assert list(mistakes(tmp_path, text)) == [path]


@pytest.mark.parametrize(("path", "text"), WITHIN_A_TABLE)
def test_a_table_is_checked_whatever_is_wrong_in_another(
    tmp_path: Path, path: str, text: str
) -> None:
    (tmp_path / "file").write_text("")
    assert set(mistakes(tmp_path, f"colour = 1\n{text}")) == {path, "colour"}


@pytest.mark.parametrize(("path", "text"), OF_TABLES)
def test_tables_are_compared_once_each_is_sound(tmp_path: Path, path: str, text: str) -> None:
    found = mistakes(tmp_path, f"colour = 1\n{text}")
    assert set(found) - {path} == {"colour"}


# -- Mistakes name their path, and the key that was probably meant.


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

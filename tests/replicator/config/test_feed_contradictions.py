"""Feeds that would bring records twice, or that cannot work, are refused by name."""

import pickle
from pathlib import Path

import pytest

from replicator.config.mistakes import ConfigMistakes
from replicator.config.topology import Appliance, UnknownRegion, load
from tests.replicator.config.test_topology import SOUND


def loaded(directory: Path, text: str) -> Appliance:
    path = directory / "appliance.toml"
    path.write_text(text)
    return load(path)


def mistakes(directory: Path, text: str) -> dict[str, str]:
    with pytest.raises(ConfigMistakes) as caught:
        loaded(directory, text)
    return {mistake.path: mistake.text for mistake in caught.value.mistakes}


def feed(
    name: str = "flights",
    clusters: str = '"west regional"',
    topics: str = '"flights"',
    replica: str = "h",
    more: str = "",
) -> str:
    return f"""
[feeds.{name}]
region = "west"
clusters = [{clusters}]
{more}
[[feeds.{name}.shards]]
topics = [{topics}]
replicas = ["clickhouse://{replica}"]
"""


def archive(name: str = "archive", clusters: str = '"west regional"', more: str = "") -> str:
    return f"""
[feeds.{name}]
kind = "s3"
region = "west"
clusters = [{clusters}]
bucket = "bucket"
{more}
"""


def test_a_feed_has_its_name_from_its_table(tmp_path: Path) -> None:
    appliance = loaded(tmp_path, SOUND + feed("b") + feed("a", topics='"other"'))
    assert [each.name for each in appliance.feeds_of("west")] == ["a", "b"]
    assert appliance.feeds_of("east") == ()
    assert appliance.feed("a") is appliance.feeds["a"]
    assert pickle.loads(pickle.dumps(appliance)) == appliance


def test_an_unknown_feed_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UnknownRegion, match="no feed 'x'; known: flights"):
        loaded(tmp_path, SOUND + feed()).feed("x")
    with pytest.raises(UnknownRegion, match="no feed 'x'; known: none"):
        loaded(tmp_path, SOUND).feed("x")
    with pytest.raises(UnknownRegion, match="no region 'north'"):
        loaded(tmp_path, SOUND).feeds_of("north")


def test_a_topic_goes_to_a_shard_or_to_none(tmp_path: Path) -> None:
    appliance = loaded(tmp_path, SOUND + feed())
    flights = appliance.feed("flights")
    assert appliance.shard_of(flights, "flights") is flights.shards[0]
    assert appliance.shard_of(flights, "other") is None


@pytest.mark.parametrize(
    ("clusters", "reason"),
    [
        ('"west regional", "west regional"', "both are west regional"),
        (
            '"west aggregate", "east aggregate"',
            "west aggregate and east aggregate hold the same records",
        ),
        ('"east regional", "west aggregate"', "east regional feeds west aggregate"),
        ('"west aggregate", "west regional"', "west regional feeds west aggregate"),
    ],
)
def test_clusters_that_bring_records_twice_are_refused(
    tmp_path: Path, clusters: str, reason: str
) -> None:
    found = mistakes(tmp_path, SOUND + feed(clusters=clusters))
    assert found == {"feeds.flights.clusters[1]": f"brings records twice: {reason}"}


def test_regional_clusters_of_several_regions_have_records_of_their_own(tmp_path: Path) -> None:
    appliance = loaded(tmp_path, SOUND + feed(clusters='"west regional", "east regional"'))
    assert appliance.feed("flights").clusters == ("west regional", "east regional")


def test_an_aggregate_may_stand_beside_a_regional_that_no_route_leads_to_it(tmp_path: Path) -> None:
    routes = 'routes = ["west>west"]\n'
    clusters = '"west aggregate", "east regional"'
    assert loaded(tmp_path, routes + SOUND + feed(clusters=clusters)).feeds


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        ('"west regional"', '"west regional"', "both are west regional"),
        ('"west regional"', '"east aggregate"', "west regional feeds east aggregate"),
        (
            '"west aggregate"',
            '"east aggregate"',
            "west aggregate and east aggregate hold the same records",
        ),
    ],
)
@pytest.mark.parametrize("topics", ['"flights"', '".*"'])
def test_two_feeds_that_load_a_topic_into_one_database_are_refused(
    tmp_path: Path, one: str, other: str, reason: str, topics: str
) -> None:
    found = mistakes(tmp_path, SOUND + feed("a", one) + feed("b", other, topics))
    pattern = topics.strip('"')
    assert found == {
        "feeds.b.shards[0].topics[0]": (
            f"feeds.a.shards[0] loads {pattern!r} into the same database, where each record would "
            f"be twice: {reason}"
        )
    }


@pytest.mark.parametrize(
    "other",
    [
        feed("b", topics='"other"'),
        feed("b", replica="another"),
        feed("b", clusters='"east regional"'),
        feed("b").replace("[[feeds.b.shards]]", '[[feeds.b.shards]]\ndatabase = "b"'),
    ],
)
def test_two_feeds_may_share_all_but_records_and_their_place(tmp_path: Path, other: str) -> None:
    assert set(loaded(tmp_path, SOUND + feed("a") + other).feeds) == {"a", "b"}


NAMES = "where objects of both would have the same names"


@pytest.mark.parametrize(
    ("one", "other", "pattern"),
    [
        (archive("a"), archive("b"), ".*"),
        (archive("a"), archive("b", '"east regional"'), ".*"),
        (archive("a"), archive("b", more='topics = ["flights"]'), "flights"),
        (archive("a", more='topics = ["flights"]'), archive("b"), ".*"),
        (archive("a", more='deny = ["x"]'), archive("b", more='deny = ["x", "y"]'), ".*"),
        (
            archive("a", more='deny = ["x"]'),
            archive("b", more='topics = ["f"]\ndeny = ["y"]'),
            "f",
        ),
        (
            archive("a", more='prefix = "{cluster}"'),
            archive("b", '"west regional", "east regional"', 'prefix = "{cluster}"'),
            ".*",
        ),
        (
            archive("a", more='prefix = "x/{cluster}"'),
            archive("b", '"east regional"', 'prefix = "x/west-regional"'),
            ".*",
        ),
    ],
)
def test_two_feeds_that_write_a_topic_below_one_prefix_are_refused(
    tmp_path: Path, one: str, other: str, pattern: str
) -> None:
    text = f"feeds.a writes {pattern!r} below the same prefix, {NAMES}"
    assert mistakes(tmp_path, SOUND + one + other) == {"feeds.b.topics[0]": text}


@pytest.mark.parametrize(
    "other",
    [
        archive("b").replace('bucket = "bucket"', 'bucket = "other"'),
        archive("b", more='endpoint = "http://h"'),
        archive("b", more='prefix = "b"'),
        archive("b", more='deny = ["flights"]'),
        archive("b", more='topics = ["other"]'),
        archive("b", '"east regional"', 'prefix = "{cluster}"'),
        feed("b"),
    ],
)
def test_feeds_into_objects_may_share_all_but_the_place_of_a_topic(
    tmp_path: Path, other: str
) -> None:
    one = archive("a", more='topics = ["flights"]')
    assert set(loaded(tmp_path, SOUND + one + other).feeds) == {"a", "b"}


def test_two_lists_of_denied_topics_may_leave_nothing_in_common(tmp_path: Path) -> None:
    one, other = archive("a", more='deny = ["a.*"]'), archive("b", more='deny = ["[^a].*"]')
    assert set(loaded(tmp_path, SOUND + one + other).feeds) == {"a", "b"}


def test_a_part_fits_into_the_memory_of_open_objects(tmp_path: Path) -> None:
    aggregator = "[aggregator]\nmemory_mib = 64\n"
    found = mistakes(tmp_path, SOUND + aggregator + archive(more="part_mib = 32.5"))
    text = "must be 32 or less: open objects have half of aggregator.memory_mib"
    assert found == {"feeds.archive.part_mib": text}
    assert loaded(tmp_path, SOUND + aggregator + archive(more="part_mib = 32.0")).feeds


@pytest.mark.parametrize(
    ("kind", "shown"), [('"s4"', "'s4'"), ("5", "5"), ('"kind=s3"', "'kind=s3'"), ("[]", "[]")]
)
def test_an_unknown_kind_is_the_only_mistake_of_its_feed(
    tmp_path: Path, kind: str, shown: str
) -> None:
    found = mistakes(tmp_path, SOUND + archive().replace('"s3"', kind))
    assert found == {
        "feeds.archive.kind": f"should be 'clickhouse' or 's3' (found {shown})",
    }


def test_all_values_of_a_feed_into_objects_that_are_wrong_are_found_at_once(tmp_path: Path) -> None:
    found = mistakes(
        tmp_path,
        SOUND
        + """
        [feeds.archive]
        kind = "s3"
        region = "west"
        clusters = ["west aggregate"]
        topics = ["flights", "("]
        endpoint = "https://me:sesame@h"
        bukket = "flights"
        path_style = "yes"
        block_mib = 1.0
        """,
    )
    assert set(found) == {
        f"feeds.archive.{key}"
        for key in (
            "topics[1]",
            "endpoint",
            "bucket",
            "bukket",
            "path_style",
            "block_mib",
        )
    }
    assert "sesame" not in str(found)
    assert "did you mean 'bucket'?" in found["feeds.archive.bukket"]
    assert found["feeds.archive.path_style"] == "should be true or false (found 'yes')"


def shards(*topics: str) -> str:
    return feed(topics=topics[0]) + "".join(
        f'[[feeds.flights.shards]]\ntopics = [{more}]\nreplicas = ["clickhouse://other"]\n'
        for more in topics[1:]
    )


@pytest.mark.parametrize(
    ("topics", "path", "text"),
    [
        (('"a"', '"b", "a"'), "shards[1].topics[1]", "shards[0] has the topics of 'a' already"),
        (('".*"', '"a"'), "shards[1].topics[0]", "shards[0] has the topics of 'a' already"),
        (('"a.*"', '"b"', '"a.*"'), "shards[2].topics[0]", "shards[0] has the topics of 'a.*'"),
        (("'a\\.b'", '"a.b"'), "shards[1].topics[0]", "shards[0] has the topics of 'a.b'"),
    ],
)
def test_a_shard_whose_topics_another_has_is_refused(
    tmp_path: Path, topics: tuple[str, ...], path: str, text: str
) -> None:
    found = mistakes(tmp_path, SOUND + shards(*topics))
    assert list(found) == [f"feeds.flights.{path}"]
    assert text in found[f"feeds.flights.{path}"]


def test_a_last_shard_may_take_all_other_topics(tmp_path: Path) -> None:
    assert loaded(tmp_path, SOUND + shards('"a"', '"b"', '".*"')).feeds


@pytest.mark.parametrize("pattern", ["sluice.balance", r"sluice\\..*", "__consumer_offsets"])
def test_topics_of_kafka_and_sluice_are_refused(tmp_path: Path, pattern: str) -> None:
    found = mistakes(tmp_path, SOUND + feed(topics=f'"{pattern}"'))
    assert "means topics of Kafka or Sluice" in found["feeds.flights.shards[0].topics[0]"]


def test_a_region_is_not_named_like_the_groups_of_feeds(tmp_path: Path) -> None:
    renamed = SOUND.replace("regions.east", "regions.feed")
    assert loaded(tmp_path, renamed).feeds == {}
    assert "taken by the groups of feeds" in mistakes(tmp_path, renamed + feed())["regions.feed"]


def test_a_block_fits_into_a_loaders_memory_and_flushes_are_no_stale_entries(
    tmp_path: Path,
) -> None:
    aggregator = "[aggregator]\nmemory_mib = 64\nstale_seconds = 30.0\n"
    more = "block_mib = 65.0"
    assert mistakes(tmp_path, SOUND + aggregator + feed(more=more)) == {
        "feeds.flights.block_mib": "must be aggregator.memory_mib (64) or less",
        "feeds.flights.reference_seconds": "must be below aggregator.stale_seconds (30)",
    }


def test_all_values_of_feeds_that_are_wrong_are_found_at_once(tmp_path: Path) -> None:
    found = mistakes(
        tmp_path,
        SOUND
        + """
        [aggregator]
        memory_mb = 64
        [feeds.flights]
        name = "flights"
        region = "west"
        clusters = ["west regional", "west"]
        formt = "json"
        block_seconds = "1"
        [[feeds.flights.shards]]
        topics = ["a", "("]
        replicas = ["clickhouse://me:sesame@h", "http://h"]
        [[feeds.flights.shards]]
        topics = ["b"]
        replica = []
        replicas = ["clickhouse://h"]
        [feeds.other]
        start = "noon"
        """,
    )
    assert set(found) == {
        "aggregator.memory_mb",
        "feeds.flights.name",
        "feeds.flights.clusters[1]",
        "feeds.flights.formt",
        "feeds.flights.block_seconds",
        "feeds.flights.shards[0].topics[1]",
        "feeds.flights.shards[0].replicas[0]",
        "feeds.flights.shards[0].replicas[1]",
        "feeds.flights.shards[1].replica",
        "feeds.other.start",
        "feeds.other.region",
        "feeds.other.clusters",
        "feeds.other.shards",
    }
    assert "sesame" not in str(found)
    assert "did you mean 'replicas'?" in found["feeds.flights.shards[1].replica"]
    assert "did you mean 'format'?" in found["feeds.flights.formt"]


def test_a_region_that_a_feed_names_and_that_is_unknown_lists_the_known_ones(
    tmp_path: Path,
) -> None:
    written = feed(clusters='"north regional"').replace('region = "west"', 'region = "north"')
    assert mistakes(tmp_path, SOUND + written) == {
        "feeds.flights.region": "no region 'north'; known: east, west",
        "feeds.flights.clusters[0]": "no region 'north' in 'north regional'; known: east, west",
    }

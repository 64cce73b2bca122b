"""The appliance is loaded whole, or refused with the mistakes of its file by name."""

import pickle
from pathlib import Path

import pytest
import redis
from pydantic import TypeAdapter, ValidationError

from replicator.config.feed_settings import ClickHouseFeed
from replicator.config.mistakes import ConfigMistakes
from replicator.config.names import runs_topic_name
from replicator.config.object_feed import ObjectFeed
from replicator.config.topology import (
    METRICS_PORTS,
    REGION_NAME_CHARACTERS_MAX,
    AnyFeed,
    Appliance,
    KafkaCluster,
    Region,
    Route,
    UnknownRegion,
    load,
)
from tests.replicator.config.any_feed import ANY_FEED

SOUND = """
[regions.west]
redis = "redis://127.0.0.1:6379"
regional.bootstrap = ["a:1", "b:1"]
aggregate.bootstrap = ["c:1"]
[regions.east]
redis = "redis://127.0.0.1:6380"
regional.bootstrap = ["d:1"]
aggregate.bootstrap = ["e:1"]
"""


def loaded(directory: Path, text: str) -> Appliance:
    path = directory / "appliance.toml"
    path.write_text(text)
    return load(path)


def mistakes(directory: Path, text: str) -> dict[str, str]:
    with pytest.raises(ConfigMistakes) as caught:
        loaded(directory, text)
    return {mistake.path: mistake.text for mistake in caught.value.mistakes}


def region(name: str, regional: str, aggregate: str) -> Region:
    return Region(
        name=name,
        regional=KafkaCluster(bootstrap=(regional,)),
        aggregate=KafkaCluster(bootstrap=(aggregate,)),
        redis="redis://h",
    )


def test_every_ordered_pair_is_a_route_by_default(tmp_path: Path) -> None:
    names = {route.name for route in loaded(tmp_path, SOUND).routes}
    assert names == {"west>west", "west>east", "east>west", "east>east"}
    only = loaded(tmp_path, 'routes = ["west>east"]' + SOUND)
    assert only.routes == (Route("west", "east"),)


def test_a_route_leads_from_a_regional_to_an_aggregate_cluster(tmp_path: Path) -> None:
    appliance = loaded(tmp_path, SOUND)
    route = appliance.route("west>east")
    assert (route.name, route.key) == ("west>east", "west.east")
    assert appliance.source_of(route).bootstrap_servers == "a:1,b:1"
    assert appliance.target_of(route).bootstrap == ("e:1",)
    assert {r.source for r in appliance.routes_into("east")} == {"west", "east"}


def test_an_unknown_region_or_route_lists_the_known_ones(tmp_path: Path) -> None:
    appliance = loaded(tmp_path, SOUND)
    with pytest.raises(UnknownRegion, match="no region 'north'; known: east, west"):
        appliance.routes_into("north")
    with pytest.raises(UnknownRegion, match="no route 'a>b'; known: west>west, west>east"):
        appliance.route("a>b")


def test_the_appliance_survives_a_trip_to_an_executor(tmp_path: Path) -> None:
    appliance = loaded(tmp_path, SOUND)
    assert pickle.loads(pickle.dumps(appliance)) == appliance


def test_all_values_that_are_wrong_are_found_at_once(tmp_path: Path) -> None:
    found = mistakes(
        tmp_path,
        """
        routes = ["west>west", "nonsense"]
        [regions.west]
        redis = "http://h"
        regional.bootstrap = ["a:1", "b:one"]
        regional.security = {protocol = "sasl_tls", ca_file = "none.pem", usernam = "u"}
        aggregate.bootstrap = ["c:1"]
        [regions.east]
        redis = "redis://:sesame@h"
        name = "east"
        aggregate.bootstrap = []
        [topics]
        allow = ["("]
        [replicator]
        epoch_seconds = 1e9
        windw = 3
        """,
    )
    assert set(found) == {
        "routes[1]",
        "regions.west.redis",
        "regions.west.regional.bootstrap[1]",
        "regions.west.regional.security.ca_file",
        "regions.west.regional.security.usernam",
        "regions.east.name",
        "regions.east.redis",
        "regions.east.regional",
        "regions.east.aggregate.bootstrap",
        "topics.allow[0]",
        "replicator.epoch_seconds",
        "replicator.windw",
    }
    assert "sesame" not in str(found)
    assert "did you mean 'window'?" in found["replicator.windw"]


def test_a_route_that_leads_nowhere_or_onto_itself_says_so(tmp_path: Path) -> None:
    routes = 'routes = ["west>north", "west>west", "east>east", "east>east"]'
    found = mistakes(tmp_path, routes + SOUND.replace('"c:1"', '"A:1"'))
    assert found == {
        "routes[0]": "no region 'north' in 'west>north'; known: east, west",
        "routes[1]": "route 'west>west' leads onto itself: both ends are a:1",
        "routes[3]": "route 'east>east' is listed twice",
        "regions.west.aggregate.bootstrap": "a:1 also belongs to regions.west.regional; each "
        "cluster needs its own",
    }


def test_two_clusters_never_share_an_address(tmp_path: Path) -> None:
    found = mistakes(tmp_path, SOUND.replace('"e:1"', '"A:1"').replace('"d:1"', '"B:1"'))
    assert "a:1 also belongs to regions.west.regional" in found["regions.east.aggregate.bootstrap"]
    assert "b:1 also belongs to regions.west.regional" in found["regions.east.regional.bootstrap"]


def test_a_configuration_without_regions_is_a_mistake(tmp_path: Path) -> None:
    assert "regions" in mistakes(tmp_path, "")
    assert "regions" in mistakes(tmp_path, "regions = 5")
    assert "regions" in mistakes(tmp_path, "regions = {}")


@pytest.mark.parametrize("name", ["", "a b", "West"])
def test_a_region_name_that_no_topic_name_can_contain_is_a_mistake(
    tmp_path: Path, name: str
) -> None:
    found = mistakes(tmp_path, SOUND.replace("[regions.west]", f'[regions."{name}"]'))
    assert found[f"regions.{name}"] == "a region's name is lower-case letters, digits and -"


def test_no_routes_at_all_is_a_mistake(tmp_path: Path) -> None:
    assert set(mistakes(tmp_path, "routes = []" + SOUND)) == {"routes"}


def test_a_file_that_cannot_be_read_or_parsed_says_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigMistakes, match="cannot be read: No such file"):
        load(tmp_path / "none.toml")
    assert "not TOML" in mistakes(tmp_path, "regions = [")[""]


def test_files_are_relative_to_the_configuration(tmp_path: Path) -> None:
    assert loaded(tmp_path, SOUND).replicator.state_dir == tmp_path / "state"


def test_the_same_rules_hold_for_an_appliance_built_in_code() -> None:
    with pytest.raises(ValidationError, match="leads onto itself"):
        Appliance(regions={"a": region("a", "x:1", "x:1")})
    with pytest.raises(ValidationError, match="the region's name is 'b'"):
        Appliance(regions={"a": region("b", "x:1", "x:2")}, routes=(Route("a", "a"),))


def test_redis_secrets_come_from_files(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("p@ss/word\n")
    (tmp_path / "ca.pem").write_text("certificates")
    text = SOUND.replace("redis://127.0.0.1:6379", "rediss://127.0.0.1:6379/1").replace(
        "[regions.east]", 'redis_password_file = "secret"\nredis_ca_file = "ca.pem"\n[regions.east]'
    )
    appliance = loaded(tmp_path, text)
    west = redis.Redis.from_url(appliance.region("west").redis_url())
    options = west.connection_pool.connection_kwargs
    assert (options["password"], options["host"], options["db"]) == ("p@ss/word", "127.0.0.1", 1)
    assert options["ssl_ca_certs"] == str(tmp_path / "ca.pem")
    assert appliance.region("east").redis_url() == "redis://127.0.0.1:6380"


def with_redis(url: str) -> str:
    return SOUND.replace("redis://127.0.0.1:6379", url)


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("redis://h:notaport/0", "the port"),
        ("redis://h:0/0", "the port"),
        ("redis://h:65536/0", "the port"),
        ("redis://h/zero", "the database"),
        ("redis://h?db=x", "the database"),
        ("redis://:sesame@h", "no password"),
        ("redis://user:sesame@h", "no password"),
        ("redis://:se/same@h", "no password"),
        ("redis://:1/sesame@h", "no password"),
        ("redis://:1?sesame@h", "no password"),
        ("redis://:1#sesame@h", "no password"),
        ("redis://h?password=sesame", "no password"),
        ("unix:///run/redis.sock?db=0&password=sesame", "no password"),
    ],
)
def test_a_redis_address_that_no_client_takes_or_with_a_password_is_refused(
    tmp_path: Path, url: str, told: str
) -> None:
    found = mistakes(tmp_path, with_redis(url))
    assert told in found["regions.west.redis"]
    assert "sesame" not in str(found)


@pytest.mark.parametrize(
    "url",
    [
        "redis://h",
        "rediss://h:6380/3?ssl_cert_reqs=none",
        "redis://user@h:6379",
        "redis://[::1]:6379/0",
        "unix:///run/redis@1.sock?db=2",
    ],
)
def test_a_redis_address_is_one_that_its_client_takes(tmp_path: Path, url: str) -> None:
    found = loaded(tmp_path, with_redis(url)).region("west").redis_url()
    assert redis.ConnectionPool.from_url(found)


def test_the_topic_named_after_two_regions_stays_within_kafkas_249_characters(
    tmp_path: Path,
) -> None:
    longest = "w" * REGION_NAME_CHARACTERS_MAX
    route = loaded(tmp_path, SOUND.replace("west", longest)).route(f"{longest}>{longest}")
    assert len(runs_topic_name(route.key)) <= 249
    found = mistakes(tmp_path, SOUND.replace("west", longest + "w"))
    assert found[f"regions.{longest}w"] == "a region's name has at most 100 characters"


def test_values_of_another_type_are_described_in_terms_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"\xff\xfe")
    found = mistakes(
        tmp_path,
        """
        routes = [5]
        [regions.west]
        redis = 5
        redis_password_file = "secret"
        redis_ca_file = 5
        regional = "a:1"
        aggregate.bootstrap = "b:1"
        aggregate.security.protocol = "pigeon"
        [topics]
        allow = ".*"
        synced_configs = [5]
        [replicator]
        window = 6
        epoch_seconds = "long"
        drain_seconds = nan
        fetch_mib = 0.5
        state_dir = 5
        [metrics]
        port = -1
        """,
    )
    assert found == {
        "routes[0]": """a route is "<source region>><target region>", e.g. "west>east" (found 5)""",
        "regions.west.redis": "should be a text in quotes (found 5)",
        "regions.west.redis_password_file": f"the file is not UTF-8 text: {tmp_path / 'secret'}"
        " (found 'secret')",
        "regions.west.redis_ca_file": "should be a path, as a text in quotes (found 5)",
        "regions.west.regional": "should be a table (found 'a:1')",
        "regions.west.aggregate.bootstrap": "should be a list: [...] (found 'b:1')",
        "regions.west.aggregate.security.protocol": "should be 'plaintext', 'tls', "
        "'sasl_plaintext' or 'sasl_tls' (found 'pigeon')",
        "topics.allow": "should be a list: [...] (found '.*')",
        "topics.synced_configs[0]": "should be a text in quotes (found 5)",
        "replicator.window": "should be 5 or less (found 6)",
        "replicator.epoch_seconds": "should be a number (found 'long')",
        "replicator.drain_seconds": "should be a number (found nan)",
        "replicator.fetch_mib": "should be a whole number (found 0.5)",
        "replicator.state_dir": "should be a path, as a text in quotes (found 5)",
        "metrics.port": "should be 0 or more (found -1)",
    }


def test_a_file_that_is_not_text_says_so(tmp_path: Path) -> None:
    path = tmp_path / "appliance.toml"
    path.write_bytes(b"# \xff")
    with pytest.raises(ConfigMistakes, match="not UTF-8 text: byte 2"):
        load(path)


SHARED = "9464 is metrics.port as well: each daemon needs a port of its own"


def with_ports(*numbers: int) -> str:
    lines = (
        f"{table}.{key} = {number}"
        for (table, key), number in zip(METRICS_PORTS, numbers, strict=False)
    )
    return "\n".join([*lines, SOUND])


@pytest.mark.parametrize("numbers", [(0, 0, 0), (9464, 0, 0), (1, 2, 3), (0, 1, 2)])
def test_different_metrics_ports_and_no_port_are_accepted(
    tmp_path: Path, numbers: tuple[int, ...]
) -> None:
    assert loaded(tmp_path, with_ports(*numbers)).metrics.port == numbers[0]


def test_each_shared_metrics_port_is_named(tmp_path: Path) -> None:
    assert mistakes(tmp_path, with_ports(9464, 9464, 9464)) == {
        "offsets.metrics_port": SHARED,
        "balance.metrics_port": SHARED,
    }
    assert list(mistakes(tmp_path, with_ports(1, 7, 7))) == ["balance.metrics_port"]


def test_the_two_daemons_of_the_aggregator_have_a_metrics_port_each(tmp_path: Path) -> None:
    found = mistakes(tmp_path, with_ports(9464, 0, 0, 9464, 7))
    assert found == {"aggregator.metrics_port": SHARED}
    found = mistakes(tmp_path, with_ports(0, 0, 0, 7, 7))
    assert list(found) == ["aggregator.verifier_metrics_port"]


FEED: TypeAdapter[ClickHouseFeed | ObjectFeed] = TypeAdapter(AnyFeed)
OF_ANY_KIND = {"name": "air", "region": "east", "clusters": ["east aggregate"]}


@pytest.mark.parametrize("kind", [{}, {"kind": "clickhouse"}])
def test_a_feed_loads_tables_unless_its_kind_says_otherwise(kind: dict[str, str]) -> None:
    shards = {"shards": ANY_FEED["shards"]}
    assert isinstance(FEED.validate_python({**OF_ANY_KIND, **shards, **kind}), ClickHouseFeed)


def test_a_feed_of_kind_s3_has_a_bucket() -> None:
    found = FEED.validate_python({**OF_ANY_KIND, "kind": "s3", "bucket": "lake"})
    assert isinstance(found, ObjectFeed)
    assert FEED.validate_python(found) is found


@pytest.mark.parametrize("kind", ["s4", 7])
def test_an_unknown_kind_is_refused_with_those_that_there_are(kind: object) -> None:
    with pytest.raises(ValidationError, match="clickhouse.*s3"):
        FEED.validate_python({**OF_ANY_KIND, "kind": kind})

"""Appliance: its regions, their clusters and the routes between them, from one TOML file.

load() returns a checked appliance, or raises ConfigMistakes. Single values are checked first, then
each table as a whole, then the tables against each other: contradictions show once what they are
about is sound.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, Self
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    model_validator,
)

from replicator.config.addresses import Addresses, RedisAddress
from replicator.config.balance_settings import BalanceSettings
from replicator.config.cluster_name import ROLES, ClusterName
from replicator.config.feed_contradictions import feed_contradictions
from replicator.config.feed_settings import AggregatorSettings, ClickHouseFeed, Feed, Shard
from replicator.config.mistakes import (
    KIND,
    ConfigMistakes,
    Mistake,
    dotted,
    raise_if_any,
    translate,
)
from replicator.config.object_feed import ObjectFeed
from replicator.config.security import ReadableFile, SecretFile, Security, read_secret
from replicator.config.settings import (
    MetricsSettings,
    OffsetsSettings,
    ReplicatorSettings,
    Table,
    TopicSettings,
)

REGION_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
REGION_NAME_CHARACTERS_MAX = 100
"""Longest name: the topic sluice.runs.<source>.<target> names two regions, and Kafka allows 249."""
METRICS_PORTS = (
    ("metrics", "port"),
    ("offsets", "metrics_port"),
    ("balance", "metrics_port"),
    ("aggregator", "metrics_port"),
    ("aggregator", "verifier_metrics_port"),
)
"""(table, key) of the metrics port of each daemon of a region; they may share a machine."""


class UnknownRegion(Exception):
    """The region, route or feed asked for is not in the configuration."""


@dataclass(frozen=True, slots=True, order=True)
class Route:
    """Route from a source region's regional cluster to a target region's aggregate cluster."""

    source: str
    target: str

    @property
    def name(self) -> str:
        """Name for people: west>east."""
        return f"{self.source}>{self.target}"

    @property
    def key(self) -> str:
        """Key for ids: west.east."""
        return f"{self.source}.{self.target}"

    def __str__(self) -> str:
        return self.name

    @classmethod
    def parse(cls, name: str) -> "Route":
        """Parses <source region>><target region>; raises ValueError for anything else."""
        source, arrow, target = (part.strip() for part in name.partition(">"))
        if not arrow or not REGION_NAME.fullmatch(source) or not REGION_NAME.fullmatch(target):
            raise ValueError('a route is "<source region>><target region>", e.g. "west>east"')
        return cls(source, target)


def parse_route(value: Any) -> Any:
    if isinstance(value, Route):
        return value
    return Route.parse(value if isinstance(value, str) else "")


RouteName = Annotated[Route, BeforeValidator(parse_route)]


class KafkaCluster(Table):
    """Kafka cluster: its addresses, and its security settings."""

    bootstrap: Addresses
    security: Security = Security()

    @property
    def bootstrap_servers(self) -> str:
        """Addresses as Kafka clients take them: comma-separated."""
        return ",".join(self.bootstrap)


class Region(Table):
    """Region: its two clusters and its Redis."""

    name: str
    """Name of the region, from its table: [regions.west]."""
    regional: KafkaCluster
    """Cluster to which this region's producers write."""
    aggregate: KafkaCluster
    """Cluster in which every region's records arrive."""
    redis: RedisAddress
    redis_password_file: SecretFile | None = None
    redis_ca_file: ReadableFile | None = None
    """PEM certificates that sign a rediss:// server's own."""

    def redis_url(self) -> str:
        """Returns the address with its secrets, for redis.Redis.from_url; never to be shown."""
        parts = urlsplit(self.redis)
        if self.redis_password_file:
            user, _, host = parts.netloc.rpartition("@")
            password = quote(read_secret(self.redis_password_file), safe="")
            parts = parts._replace(netloc=f"{user}:{password}@{host}")
        if self.redis_ca_file:
            options = dict(parse_qsl(parts.query)) | {"ssl_ca_certs": str(self.redis_ca_file)}
            parts = parts._replace(query=urlencode(options))
        # urlunsplit() would turn unix:///path into unix:/path, which redis does not take.
        query = f"?{parts.query}" if parts.query else ""
        return f"{parts.scheme}://{parts.netloc}{parts.path}{query}"


def _kind_of(table: Any) -> str:
    """Returns the tag of a feed's kind, which says which keys its table has."""
    default = "clickhouse"
    is_table = isinstance(table, Mapping)
    kind = table.get("kind", default) if is_table else getattr(table, "kind", default)
    return f"{KIND}{kind}"


AnyFeed = Annotated[
    Annotated[ClickHouseFeed, Tag(f"{KIND}clickhouse")] | Annotated[ObjectFeed, Tag(f"{KIND}s3")],
    Discriminator(_kind_of),
]


class Appliance(Table):
    """Whole configuration of an appliance."""

    regions: dict[str, Region]
    routes: tuple[RouteName, ...]
    """Routes; by default every ordered pair of regions, also a region onto its own aggregate."""
    topics: TopicSettings = TopicSettings()
    replicator: ReplicatorSettings = ReplicatorSettings()
    metrics: MetricsSettings = MetricsSettings()
    offsets: OffsetsSettings = OffsetsSettings()
    balance: BalanceSettings = BalanceSettings()
    aggregator: AggregatorSettings = AggregatorSettings()
    feeds: dict[str, AnyFeed] = Field(default_factory=dict)
    """Feeds by name: topics that `sluice aggregate` loads into tables."""
    shared_cluster_ids: tuple[str, ...] = ()
    """Cluster ids that several separate clusters are known to share."""

    def region(self, name: str) -> Region:
        """Returns a region; raises UnknownRegion, listing the known ones."""
        if name not in self.regions:
            raise UnknownRegion(f"no region {name!r}; known: {', '.join(sorted(self.regions))}")
        return self.regions[name]

    def route(self, name: str) -> Route:
        """Returns the configured route west>east; raises UnknownRegion, listing the known ones."""
        for route in self.routes:
            if route.name == name:
                return route
        known = ", ".join(route.name for route in self.routes)
        raise UnknownRegion(f"no route {name!r}; known: {known}")

    @property
    def cluster_names(self) -> tuple[ClusterName, ...]:
        """Names of all clusters, by region."""
        return tuple(ClusterName.of(name, role) for name in sorted(self.regions) for role in ROLES)

    def cluster(self, name: ClusterName) -> KafkaCluster:
        """Returns a cluster; raises UnknownRegion."""
        region = self.region(name.region)
        return region.regional if name.role == "regional" else region.aggregate

    def routes_into(self, target: str) -> tuple[Route, ...]:
        self.region(target)
        return tuple(route for route in self.routes if route.target == target)

    def source_of(self, route: Route) -> KafkaCluster:
        """Returns the cluster that a route reads."""
        return self.region(route.source).regional

    def target_of(self, route: Route) -> KafkaCluster:
        """Returns the cluster that a route writes."""
        return self.region(route.target).aggregate

    def feed(self, name: str) -> Feed:
        """Returns a feed; raises UnknownRegion, listing the known ones."""
        if name not in self.feeds:
            known = ", ".join(sorted(self.feeds)) or "none"
            raise UnknownRegion(f"no feed {name!r}; known: {known}")
        return self.feeds[name]

    def feeds_of(self, region: str) -> tuple[Feed, ...]:
        """Returns the feeds that a region's aggregator loads, by name."""
        self.region(region)
        return tuple(feed for _, feed in sorted(self.feeds.items()) if feed.region == region)

    def shard_of(self, feed: Feed, topic: str) -> Shard | None:
        """Returns the shard that a topic goes to; None if the feed does not load it."""
        number = feed.shard_number(topic)
        return None if number is None else feed.shards[number]

    @model_validator(mode="before")
    @classmethod
    def _completed(cls, data: Any) -> Any:
        return completed(data) if isinstance(data, Mapping) else data

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        found = list(contradictions_between(self.regions, self.routes))
        found += [
            (f"{kind}s.{key}", f"the {kind}'s name is {named.name!r}")
            for kind, all_named in (("region", self.regions), ("feed", self.feeds))
            for key, named in all_named.items()
            if named.name != key
        ]
        found += feed_contradictions(
            self.feeds, self.aggregator, self.regions, sources_by(self.routes)
        )
        known = {route.name for route in self.routes}
        found += [
            (f"balance.routes.{name}", f"no route {name!r}; known: {', '.join(sorted(known))}")
            for name in self.balance.routes
            if name not in known
        ]
        found += shared_ports(self)
        raise_if_any(found)
        return self


def load(path: str | Path) -> Appliance:
    """Returns the appliance of a TOML file; raises ConfigMistakes."""
    path = Path(path)
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigMistakes(
            str(path), [Mistake("", f"cannot be read: {error.strerror}")]
        ) from None
    except UnicodeDecodeError as error:
        raise ConfigMistakes(
            str(path), [Mistake("", f"not UTF-8 text: byte {error.start}")]
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigMistakes(str(path), [Mistake("", f"not TOML: {error}")]) from None
    mistakes = [*names_within(("regions",), raw), *names_within(("feeds",), raw)]
    feeds = raw.get("feeds")
    for feed, table in feeds.items() if isinstance(feeds, Mapping) else ():
        if isinstance(table, Mapping):
            mistakes += names_within(("feeds", feed, "tables"), {"tables": table.get("tables")})
    try:
        appliance = Appliance.model_validate(raw, context={"directory": path.parent.absolute()})
    except ValidationError as error:
        mistakes += translate(error, Appliance)
    else:
        if not mistakes:
            return appliance
    raise ConfigMistakes(str(path), mistakes)


def completed(data: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the file's tables with the implied values: names of regions and feeds, the default
    routes."""
    # Tables whose defaults depend on the file's directory are added where the file has none.
    whole: dict[str, Any] = {"replicator": {}, "aggregator": {}, "regions": {}, **data}
    for kind in ("regions", "feeds"):
        if isinstance(whole.get(kind), Mapping):
            whole[kind] = {
                name: {"name": name, **table} if isinstance(table, Mapping) else table
                for name, table in whole[kind].items()
            }
    regions = whole["regions"]
    names = tuple(regions) if isinstance(regions, Mapping) else ()
    whole.setdefault("routes", [Route(a, b) for a in names for b in names])
    return whole


def names_within(path: tuple[str, ...], above: Mapping[str, Any]) -> Iterator[Mistake]:
    """Yields a mistake for a key "name" in a region, a feed or a table: its table names it.

    Args:
        path: of the tables, whose last step is a key of what is above them.
    """
    tables = above.get(path[-1])
    for name, table in tables.items() if isinstance(tables, Mapping) else ():
        if isinstance(table, Mapping) and "name" in table:
            yield Mistake(dotted((*path, name, "name")), "unknown key; the table's name counts")


def sources_by(routes: Iterable[Route]) -> dict[ClusterName, set[ClusterName]]:
    """Returns the regional clusters that feed each aggregate cluster."""
    sources: dict[ClusterName, set[ClusterName]] = {}
    for route in routes:
        aggregate = ClusterName.aggregate(route.target)
        sources.setdefault(aggregate, set()).add(ClusterName.regional(route.source))
    return sources


def shared_ports(appliance: Appliance) -> Iterator[tuple[str, str]]:
    """Yields (path, what is wrong) of each metrics port that is another daemon's too."""
    owners: dict[int, str] = {}
    for table, key in METRICS_PORTS:
        port = getattr(getattr(appliance, table), key)
        name = f"{table}.{key}"
        owner = owners.setdefault(port, name) if port else name
        if owner != name:
            yield name, f"{port} is {owner} as well: each daemon needs a port of its own"


def contradictions_between(
    regions: Mapping[str, Region], routes: Iterable[Route]
) -> Iterator[tuple[str, str]]:
    """Yields (path, what is wrong) between regions, routes and clusters."""
    if not regions:
        yield "regions", "needs at least one region: a table [regions.<name>]"
    for name in regions:
        if not REGION_NAME.fullmatch(name):
            yield f"regions.{name}", "a region's name is lower-case letters, digits and -"
        if len(name) > REGION_NAME_CHARACTERS_MAX:
            most = f"a region's name has at most {REGION_NAME_CHARACTERS_MAX} characters"
            yield f"regions.{name}", most
    if regions and not routes:
        yield "routes", "is empty, so nothing would be mirrored; leave it out for every route"
    addresses = {
        ClusterName.of(name, role): getattr(region, role).bootstrap
        for name, region in regions.items()
        for role in ROLES
    }
    seen: set[Route] = set()
    for number, route in enumerate(routes):
        where = f"routes[{number}]"
        for region in dict.fromkeys((route.source, route.target)):
            if region not in regions:
                known = ", ".join(sorted(regions))
                yield where, f"no region {region!r} in {route.name!r}; known: {known}"
        if route in seen:
            yield where, f"route {route.name!r} is listed twice"
        seen.add(route)
        source = set(addresses.get(ClusterName.regional(route.source), ()))
        shared = source & set(addresses.get(ClusterName.aggregate(route.target), ()))
        if shared:
            yield where, f"route {route.name!r} leads onto itself: both ends are {min(shared)}"
    for (one, some), (other, more) in combinations(addresses.items(), 2):
        for address in sorted(set(some) & set(more)):
            yield (
                f"regions.{other.region}.{other.role}.bootstrap",
                f"{address} also belongs to regions.{one.region}.{one.role}; each cluster needs "
                "its own",
            )

"""deploy/appliance.toml documents every setting with its default in the code."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from replicator.config.balance_settings import BalanceSettings, RouteBalance
from replicator.config.feed_settings import AggregatorSettings, ClickHouseFeed, Shard
from replicator.config.object_feed import ObjectFeed
from replicator.config.security import Security
from replicator.config.settings import (
    MetricsSettings,
    OffsetsSettings,
    ReplicatorSettings,
    TopicSettings,
)
from replicator.config.topology import Appliance, KafkaCluster, Region, Route, load
from replicator.config.upsert_table import UpsertTable

REFERENCE = Path(__file__).parents[2] / "deploy" / "appliance.toml"


OF_TABLES_ONLY = {"shards", "tables"}
"""Keys of feeds that a feed into objects refuses."""


def with_defaults_shown() -> dict[str, Any]:
    """Parses the file with every "#key = value" line uncommented."""
    text = re.sub(r"^#(?=[a-z_]+ = )", "", REFERENCE.read_text(), flags=re.MULTILINE)
    return tomllib.loads(text)


def table(*path: str | int) -> dict[str, Any]:
    found: Any = with_defaults_shown()
    for step in path:
        found = found[step]
    assert isinstance(found, dict)
    return found


TABLES = [
    (Appliance, ()),
    (Region, ("regions", "west")),
    (KafkaCluster, ("regions", "west", "aggregate")),
    (Security, ("regions", "west", "aggregate", "security")),
    (TopicSettings, ("topics",)),
    (ReplicatorSettings, ("replicator",)),
    (MetricsSettings, ("metrics",)),
    (OffsetsSettings, ("offsets",)),
    (BalanceSettings, ("balance",)),
    (RouteBalance, ("balance", "routes", "west>east")),
    (AggregatorSettings, ("aggregator",)),
    (ClickHouseFeed, ("feeds", "flights")),
    (Shard, ("feeds", "flights", "shards", 0)),
    (UpsertTable, ("feeds", "flights", "tables", "flight_status")),
    (ObjectFeed, ("feeds", "archive")),
]


def test_the_reference_loads_as_it_stands() -> None:
    appliance = load(REFERENCE)
    assert sorted(appliance.regions) == ["east", "west"]
    assert appliance.replicator.state_dir == REFERENCE.parent / "state"


def test_the_routes_shown_are_the_default_routes() -> None:
    shown = with_defaults_shown()["routes"]
    assert {Route.parse(name) for name in shown} == set(load(REFERENCE).routes)


@pytest.mark.parametrize(("model", "path"), TABLES)
def test_every_setting_is_documented(model: type[BaseModel], path: tuple[str | int, ...]) -> None:
    known = set(model.model_fields) - {"name"} - (OF_TABLES_ONLY if model is ObjectFeed else set())
    assert set(table(*path)) == known


@pytest.mark.parametrize(("model", "path"), TABLES[3:])
def test_every_default_shown_is_the_default(
    model: type[BaseModel], path: tuple[str | int, ...]
) -> None:
    for key, shown in table(*path).items():
        if isinstance(shown, dict) or model.model_fields[key].is_required():
            continue  # a table of its own, or an example
        default = model.model_fields[key].default
        assert default is not PydanticUndefined
        if default is None:
            continue
        assert default == (tuple(shown) if isinstance(shown, list) else type(default)(shown)), key


@pytest.mark.parametrize(("model", "path"), TABLES[3:])
def test_only_keys_that_have_a_default_are_commented_out(
    model: type[BaseModel], path: tuple[str | int, ...]
) -> None:
    found: Any = tomllib.loads(REFERENCE.read_text())
    for step in path:
        found = found[step]
    required = {key for key, field in model.model_fields.items() if field.is_required()}
    shown = {key for key, value in found.items() if not isinstance(value, dict)}
    assert shown == required - {"name"}


def test_only_keys_without_a_default_say_so() -> None:
    for line in REFERENCE.read_text().splitlines():
        match = re.match(r"#([a-z_]+) = .*?(# no default.*)?$", line)
        if match and match[1] in Security.model_fields:
            assert (Security.model_fields[match[1]].default is None) == bool(match[2]), line


def shown_ranges() -> list[tuple[str, str, tuple[float, float]]]:
    """Returns (table, key, range) of each key whose comment has a range: (1 to 3600)."""
    found, header, comment = [], "", ""
    for line in REFERENCE.read_text().splitlines():
        if match := re.match(r"\[+([^\]]+)", line):
            header = match[1]
        elif not (match := re.match(r"#?([a-z_]+) = ", line)):
            comment += line
            continue
        elif limits := re.search(r"\(([\d.]+) to ([\d.]+)", comment):
            found.append((header, match[1], (float(limits[1]), float(limits[2]))))
        comment = ""
    return found


def test_each_range_shown_is_that_of_the_setting() -> None:
    models = {".".join(map(str, path)): model for model, path in TABLES}
    ranges = shown_ranges()
    assert len(ranges) >= 5
    for header, key, shown in ranges:
        marks = models[header].model_fields[key].metadata
        limits = [
            getattr(mark, name) for name in ("ge", "le") for mark in marks if hasattr(mark, name)
        ]
        assert tuple(limits) == shown, f"{header}.{key}"

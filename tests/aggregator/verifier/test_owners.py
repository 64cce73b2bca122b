"""Owners: whose groups a region's verifier judges, in which cluster."""

from __future__ import annotations

import pytest

from aggregator.intents import intent_store
from aggregator.upsert.tick_codec import PARTS_MAX
from aggregator.verifier.owners import Owner, judged_clusters
from aggregator.verifier.tick_rules import TickRules
from replicator.config.cluster_name import ClusterName
from replicator.config.names import PLAN_TOPIC, upsert_group
from replicator.kafka.protocol.commit_record import Committed
from tests.tui.facts.watch.told import appliance

EAST, WEST = ClusterName.regional("east"), ClusterName.regional("west")
TABLE = {"semantic": "upsert", "columns": {"id": "UInt64"}, "primary_key": ["id"]}
FEED = {
    "region": "east",
    "format": "json",
    "clusters": ["east regional", "west regional"],
    "shards": [{"topics": [".*"], "replicas": ["clickhouse://user@127.0.0.1"]}],
}


def owners(**tables):
    found = judged_clusters(appliance(feeds={"flights": {**FEED, "tables": tables}}), "east")
    return {name: dict(groups) for name, groups in found.items()}


@pytest.mark.parametrize(
    ("home", "cluster"), [(None, EAST), ("west regional", WEST)], ids=["first", "named"]
)
def test_the_ticks_of_a_table_are_judged_in_its_home_alone(home, cluster):
    table = TABLE if home is None else TABLE | {"home": home}
    found = owners(status=table)
    ticks = {name: [it for it in found[name].values() if it.part] for name in (EAST, WEST)}
    assert {name for name, some in ticks.items() if some} == {cluster}
    assert {each.name for each in ticks[cluster]} == {"table flights.status"}
    assert [each.part.number for each in ticks[cluster]] == [*range(PARTS_MAX)]
    assert isinstance(found[cluster][upsert_group("flights", "status", 5)].rules, TickRules)


def test_append_tables_have_no_ticks():
    found = owners(status={"semantic": "append"})
    assert not [each for some in found.values() for each in some.values() if each.part]


def test_an_owner_takes_the_offsets_that_are_its_entries():
    found = owners(status=TABLE)[EAST]
    table: Owner = found[upsert_group("flights", "status", 0)]
    intents: Owner = found[next(iter(intent_store.groups_of("flights")))]
    plan, other = (Committed("", name, 0) for name in (PLAN_TOPIC, "departures"))
    assert (table.has(plan), table.has(other)) == (True, False)
    assert (intents.has(plan), intents.has(other)) == (False, True)
    assert not table.has(plan._replace(partition=1))

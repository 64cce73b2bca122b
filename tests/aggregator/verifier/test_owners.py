"""Owners: the groups of a region's feeds and routes, each in the cluster that keeps them."""

from __future__ import annotations

import pytest

from aggregator.verifier.intent_rules import IntentRules
from aggregator.verifier.ledger_rules import LedgerRules
from aggregator.verifier.owners import Subject, owners_of
from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Appliance, UnknownRegion

EAST = ClusterName.aggregate("east")


def appliance(feeds, routes=("west>east", "east>west")):
    regions = {
        name: {
            "redis": f"redis://127.0.0.1:{port}",
            "regional": {"bootstrap": [f"127.0.0.1:{port + 1}"]},
            "aggregate": {"bootstrap": [f"127.0.0.1:{port + 2}"]},
        }
        for name, port in (("west", 7000), ("east", 7010))
    }
    return Appliance.model_validate({"regions": regions, "routes": routes, "feeds": feeds})


def feed(region, *clusters):
    return {
        "region": region,
        "clusters": list(clusters),
        "shards": [{"replicas": ["clickhouse://127.0.0.1:9000"]}],
    }


def test_a_region_without_feeds_has_the_ledger_of_its_own_aggregate():
    found = owners_of(appliance({}), "east")
    assert list(found) == [EAST]
    assert sorted(found[EAST]) == [f"sluice.west.east.{number}" for number in range(4)]
    assert {each.name for each in found[EAST].values()} == {"route west>east"}
    assert all(isinstance(each.rules, LedgerRules) for each in found[EAST].values())


def test_the_intents_of_a_feed_are_in_each_cluster_that_it_reads():
    feeds = {"flights": feed("east", "west regional", "east regional")}
    found = owners_of(appliance(feeds), "east")
    assert list(found) == [EAST, "east regional", "west regional"]
    groups = [f"sluice.feed.flights.{number}" for number in range(4)]
    assert sorted(found[ClusterName.regional("west")]) == groups
    assert all(
        isinstance(each.rules, IntentRules) for each in found[ClusterName.regional("west")].values()
    )


def test_a_feed_of_the_aggregate_stands_beside_the_ledger():
    found = owners_of(appliance({"flights": feed("east", EAST)}), "east")
    assert {each.name for each in found[EAST].values()} == {"feed flights", "route west>east"}


def test_feeds_of_other_regions_are_left_to_their_own_verifiers():
    feeds = {"flights": feed("west", "west regional")}
    assert list(owners_of(appliance(feeds), "east")) == [EAST]


def test_a_region_without_routes_and_feeds_has_nothing_to_judge():
    assert owners_of(appliance({}, routes=("east>west",)), "east") == {}
    with pytest.raises(UnknownRegion):
        owners_of(appliance({}), "north")


def test_a_subject_is_named_for_people():
    subject = Subject(EAST, "feed flights", "departures", 3)
    assert str(subject) == "feed flights departures-3 in east aggregate"

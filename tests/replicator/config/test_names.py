"""Names of what Sluice owns, of clusters, and addresses."""

import pickle
import re

import pytest
from pydantic import ValidationError

from replicator.config import names
from replicator.config.cluster_name import ClusterName
from replicator.config.topology import KafkaCluster


def test_names_never_change():
    route = "west.east"
    assert [
        names.BALANCE_TOPIC,
        names.PLAN_TOPIC,
        names.PRIMARY_REGIONS_TOPIC,
        names.COMMITS_GROUP,
        names.runs_topic_name(route),
        names.runs_group(route),
        names.ledger_group(route, 0),
        names.witness_group(route, "flights"),
        names.carrier_id(route, 0),
        names.unheld_id(route),
        names.handover_id(route, 0),
        names.operator_id(route),
        names.driver_id("east"),
        names.balancer_id("east"),
    ] == [
        "sluice.balance",
        "sluice.plan",
        "sluice.primary-regions",
        "sluice.commits",
        "sluice.runs.west.east",
        "sluice.west.east.runs",
        "sluice.west.east.0",
        "sluice.west.east.witness.flights",
        "sluice.west.east.0",
        "sluice.west.east.free",
        "sluice.west.east.0.handed",
        "sluice.west.east.operator",
        "sluice.east.driver",
        "sluice.east.balancer",
    ]


def test_one_pattern_leaves_all_groups_out_of_lag_tools():
    route, feed = "west.east", "traffic"
    groups = [
        names.runs_group(route),
        names.ledger_group(route, 0),
        names.witness_group(route, "orders"),
        names.driver_id("east"),
        names.feed_group(feed, 0),
        names.feed_witness_group(feed, "orders"),
        names.aggregator_id("east"),
        names.restore_id("7"),
        names.COMMITS_GROUP,
        names.BALANCE_TOPIC,
        names.PRIMARY_REGIONS_TOPIC,
        names.TOPIC_CONFIGS_TOPIC,
        names.RESTORED_TOPIC,
    ]
    assert all(re.fullmatch(r"sluice\..*", group) for group in groups)


# -- Names of clusters.


def test_a_name_is_the_text_of_region_and_role():
    name = ClusterName.aggregate("west-1")
    assert (name, f"{name!r}") == ("west-1 aggregate", "'west-1 aggregate'")
    assert (name.region, name.role) == ("west-1", "aggregate")
    assert ClusterName("west regional") == ClusterName.regional("west")


def test_a_name_survives_pickling():
    copy = pickle.loads(pickle.dumps(ClusterName.regional("west")))
    assert isinstance(copy, ClusterName) and copy.region == "west"


@pytest.mark.parametrize("text", ["west", "west Redis", "", "west aggregate now"])
def test_another_text_is_refused(text):
    with pytest.raises(ValueError, match="<region> regional or <region> aggregate"):
        ClusterName(text)


# -- Addresses; those of Redis are tested with the whole file (test_topology.py).


@pytest.mark.parametrize("address", ["h", "h:", ":1", "h:0", "h:65536", "h:1/x", "a b:1", "h,i:1"])
def test_an_address_is_host_and_port(address: str) -> None:
    with pytest.raises(ValidationError, match="host:port"):
        KafkaCluster(bootstrap=(address,))


def test_an_ipv6_address_is_an_address() -> None:
    assert KafkaCluster(bootstrap=("[::1]:9092",)).bootstrap == ("[::1]:9092",)


def test_a_cluster_has_addresses_and_each_once() -> None:
    with pytest.raises(ValidationError, match="at least one host:port"):
        KafkaCluster(bootstrap=())
    with pytest.raises(ValidationError, match="listed twice: h:1"):
        KafkaCluster(bootstrap=("h:1", "H:1"))

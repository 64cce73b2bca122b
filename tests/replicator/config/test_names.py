import re

from replicator.config import names


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

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

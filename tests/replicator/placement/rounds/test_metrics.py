"""Metrics show the results of the last rounds; an unknown value has no sample."""

from prometheus_client import CollectorRegistry, generate_latest

from replicator.orders.round_status import AlertStatus, RoundStatus
from replicator.placement.rounds.metrics import BalanceCollector

HOT = AlertStatus(name="hot partition", text="t-0", evidence={})


def samples(**known):
    status = RoundStatus(
        route="west.east", stream="default", at_ms=2000, generation=2, partitions=3, **known
    )
    registry = CollectorRegistry()
    registry.register(BalanceCollector(lambda: [status]))
    lines = generate_latest(registry).decode().splitlines()
    return {
        line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if line[0] != "#"
    }


def test_loads_and_alerts_have_samples_of_their_own():
    found = samples(loads={0: 0.5}, alerts=(HOT, HOT))
    labels = 'route="west.east",stream="default"'
    assert found[f'sluice_balance_carrier_load{{carrier="0",{labels}}}'] == 0.5
    assert found[f'sluice_balance_alerts{{alert="hot_partition",{labels}}}'] == 2
    assert found[f'sluice_balance_alerts{{alert="frozen",{labels}}}'] == 0
    assert found[f"sluice_balance_round_timestamp_seconds{{{labels}}}"] == 2


def test_what_is_not_known_has_no_sample():
    assert not any("sluice_balance_bound" in name for name in samples())
    assert any("sluice_balance_bound" in name for name in samples(bound=0.1))

from balancer.decision.placement import Placement, calm_loads, loads
from tests.balancer.decision.routes import at


def test_the_load_of_a_carrier_is_the_sum_of_its_shares():
    shares = {at(0): 0.5, at(1): 0.25}
    assert loads({at(0): 2, at(1): 2}, shares, [2, 1]) == {1: 0.0, 2: 0.75}


def test_partitions_elsewhere_or_without_a_share_do_not_count():
    assert loads({at(0): 7, at(1): 0}, {at(0): 0.5}, [0]) == {0: 0.0}


def test_calm_loads_leave_out_carriers_with_a_hot_partition():
    assert calm_loads({at(0): 0}, {0: 5.0, 1: 0.5}, [at(0), at(9)]) == [0.5]


def test_the_excess_is_the_sum_above_the_limit():
    found = Placement({}, (), {0: 0.5, 1: 1.0, 2: 1.25}, {}, (), 0.0, 0)
    assert found.excess(0.75) == 0.75

from balancer.decision.loads import calm_loads, excess, loads
from tests.balancer.decision.routes import at


def test_each_carrier_has_what_its_partitions_have_and_an_empty_one_nothing():
    shares = {at(0): 0.5, at(1): 0.25}
    assert loads({at(0): 2, at(1): 2}, shares, [2, 1]) == {1: 0.0, 2: 0.75}


def test_what_is_elsewhere_or_has_no_share_counts_for_none():
    assert loads({at(0): 7, at(1): 0}, {at(0): 0.5}, [0]) == {0: 0.0}


def test_carriers_with_a_hot_partition_are_left_out():
    assert calm_loads({at(0): 0}, {0: 5.0, 1: 0.5}, [at(0), at(9)]) == [0.5]


def test_the_excess_is_what_is_above():
    assert excess([0.5, 1.0, 1.25], 0.75) == 0.75

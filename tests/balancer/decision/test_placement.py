from balancer.decision.placement import Placement


def test_the_carriers_above_a_share_are_told_with_what_they_carry():
    placement = Placement({}, (), {0: 0.7, 1: 0.71, 2: 5.0}, {}, (), 0.7, 0)
    assert placement.above(0.7) == {1: 0.71, 2: 5.0}

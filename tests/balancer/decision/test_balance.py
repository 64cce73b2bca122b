from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from balancer.decision.balance import is_balanced
from balancer.decision.limits import Limits
from balancer.decision.placing import RouteView, Scope, place
from tests.balancer.decision.routes import at, even

SHARES = st.dictionaries(st.builds(at, st.integers(0, 14)), st.floats(0, 1), min_size=1)


@given(SHARES, st.data(), st.booleans())
def test_where_it_is_in_balance_a_sticky_plan_moves_nothing(shares, data, is_planned):
    carriers = data.draw(st.lists(st.integers(0, 4), min_size=1, unique=True))
    somewhere = st.sampled_from(carriers)
    pins = data.draw(st.dictionaries(st.sampled_from(sorted(shares)), somewhere, max_size=2))
    view = RouteView(shares, carriers, {each: data.draw(somewhere) for each in shares}, pins)
    limits = Limits(slack=data.draw(st.sampled_from([0.0, 0.05, 1.0])), partitions_max=9)
    if is_planned:
        view = replace(view, before=place(view, limits, Scope.FULL).where)
    if is_balanced(view, limits):
        assert place(view, limits, Scope.STICKY).moves == ()


def test_what_was_placed_by_a_full_plan_is():
    view = RouteView(even(100) | {at(0, "hot"): 0.9}, range(5))
    stands = replace(view, before=place(view, Limits(), Scope.FULL).where)
    assert is_balanced(stands, Limits())
    assert not is_balanced(replace(stands, before={**stands.before, at(0): 0, at(1): 0}), Limits())
    assert not is_balanced(replace(stands, carriers=range(4)), Limits())
    assert not is_balanced(replace(stands, pins={at(0): stands.before[at(1)]}), Limits())
    assert not is_balanced(view, Limits())


def test_a_route_without_partitions_is():
    assert is_balanced(RouteView({}, [0]), Limits())


def test_carriers_that_have_next_to_nothing_to_do_are_in_balance():
    shares = {at(number): 0.01 for number in range(8)}
    view = RouteView(shares, range(2), dict.fromkeys(shares, 0))
    assert not is_balanced(view, Limits())
    assert is_balanced(view, Limits(idle=0.1))
    assert not is_balanced(view, Limits(idle=0.07))

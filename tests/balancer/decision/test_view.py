from balancer.decision.view import Orders, RoundView


def test_a_view_has_no_orders_doubts_or_silent_carriers_by_default():
    view = RoundView(now_ms=0, partitions=frozenset(), shares={})
    assert view.orders == Orders() and not view.orders.paused
    assert not (view.silent or view.withdrawn or view.doubts or view.degraded)

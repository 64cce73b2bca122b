from balancer.decision.round_view import Orders, RoundView


def test_nothing_is_ordered_gone_or_doubted_unless_it_is_said():
    view = RoundView(now_ms=0, partitions=frozenset(), shares={})
    assert view.orders == Orders() and not view.orders.paused
    assert not (view.silent or view.withdrawn or view.doubts or view.degraded)

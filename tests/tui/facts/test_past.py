"""Past of a route: nothing is known of it at first."""

from tui.facts.route_facts import NO_PAST


def test_without_earlier_snapshots_no_earlier_lag_is_known() -> None:
    assert NO_PAST.lag_at is None
    assert (NO_PAST.lags, NO_PAST.still, NO_PAST.heard) == ({}, {}, {})

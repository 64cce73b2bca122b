"""Command-line options for a stream's limits."""

from replicator.config.balance_settings import RouteBalance
from tui.commands.stream_options import LIMITS


def test_there_is_an_option_for_every_limit_and_for_nothing_else():
    assert set(LIMITS) == set(RouteBalance.model_fields)

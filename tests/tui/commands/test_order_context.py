"""Order context: its parts are made when they are used."""

import pytest

from replicator.config.mistakes import ConfigMistakes
from tui.commands.order_context import OrderContext
from tui.orders.region_orders import Terms


def context(**more) -> OrderContext:
    given = {"config": "none.toml", "timeout_seconds": 1.0, "output": "json"}
    return OrderContext(**{**given, "reason": None, "duration": None, **more})


def test_a_configuration_that_is_missing_is_named_when_it_is_needed():
    made = context()
    with pytest.raises(ConfigMistakes, match=r"none\.toml"):
        _ = made.appliance


def test_terms_are_empty_where_a_command_has_no_such_options():
    assert context().terms == Terms()
    assert context(reason="why", duration="2h").terms == Terms("why", "2h")

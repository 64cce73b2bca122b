"""The balancer's settings refuse what cannot work, by name."""

from typing import Any

import pytest
from pydantic import ValidationError

from replicator.config.balance_settings import BalanceSettings


@pytest.mark.parametrize("text", ["", "02:00-04:30", "23:30-00:15"])
def test_a_window_of_the_day_may_pass_midnight(text: str) -> None:
    assert BalanceSettings(off_peak=text).off_peak == text


@pytest.mark.parametrize("text", ["2-4", "02:00-25:00", "02:00", "02:00-02:00", "night"])
def test_a_window_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValidationError, match="window"):
        BalanceSettings(off_peak=text)


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ({"carriers_min": 4, "carriers_max": 3}, "carriers_max"),
        ({"carriers_max": 3, "routes": {"west>east": {"carriers_min": 4}}}, "west>east"),
        ({"sample_seconds": 60.0, "fresh_seconds": 61.0}, "fresh_seconds"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(table: dict[str, Any], key: str) -> None:
    with pytest.raises(ValidationError) as refused:
        BalanceSettings(**table)
    assert key in str(refused.value.errors()[0]["ctx"])


def test_a_route_may_have_as_many_carriers_as_there_are_slots() -> None:
    table: Any = {"carriers_max": 3, "routes": {"west>east": {"carriers_max": 0}}}
    assert BalanceSettings(**table).routes["west>east"].carriers_max == 0

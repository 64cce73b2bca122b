"""Balance settings refuse values that cannot work, by name."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from replicator.config.balance_settings import MEMORY_MIB_MIN, BalanceSettings


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
        (
            {"carriers_max": 3, "routes": {"west>east": {"carriers_min": 4}}},
            "west>east.carriers_min",
        ),
        ({"sample_seconds": 60.0, "fresh_seconds": 61.0}, "fresh_seconds"),
        ({"history": "clickhouse"}, "history_clickhouse: is missing"),
        ({"history_clickhouse": "clickhouse://h"}, "history_clickhouse: has no meaning"),
        ({"history_clickhouse_days": 9}, "history_clickhouse_days: has no meaning"),
        (
            {
                "history": "clickhouse",
                "history_clickhouse": "clickhouse://h",
                "history_clickhouse_ca_file": Path(__file__),
            },
            "history_clickhouse_ca_file: has no meaning with clickhouse://",
        ),
    ],
)
def test_settings_that_contradict_each_other_are_refused(table: dict[str, Any], key: str) -> None:
    with pytest.raises(ValidationError) as refused:
        BalanceSettings(**table)
    assert key in str(refused.value.errors()[0]["ctx"])


@pytest.mark.parametrize("mib", [-1, 1, MEMORY_MIB_MIN - 1])
def test_memory_that_no_carrier_does_with_is_refused(mib: int) -> None:
    with pytest.raises(ValidationError, match="memory_mib"):
        BalanceSettings(memory_mib=mib)
    assert BalanceSettings(memory_mib=MEMORY_MIB_MIN).memory_mib == MEMORY_MIB_MIN
    assert BalanceSettings(memory_mib=0).memory_mib == 0


def test_a_throughput_file_is_named_relative_to_the_configuration(tmp_path: Path) -> None:
    found = BalanceSettings.model_validate(
        {"throughput_file": "rates.json"}, context={"directory": tmp_path}
    )
    assert found.throughput_file == tmp_path / "rates.json"


def test_a_route_may_have_as_many_carriers_as_there_are_slots() -> None:
    table: Any = {"carriers_max": 3, "routes": {"west>east": {"carriers_max": 0}}}
    assert BalanceSettings(**table).routes["west>east"].carriers_max == 0


def test_a_history_in_clickhouse_names_its_server_and_what_is_wrong_with_its_address() -> None:
    table: Any = {"history": "clickhouse", "history_clickhouse": "clickhouses://me@h/mine"}
    settings = BalanceSettings(**table)
    assert str(settings.history_clickhouse) == "clickhouses://me@h:9440/mine"
    with pytest.raises(ValidationError, match="no password in the address"):
        BalanceSettings(**table | {"history_clickhouse": "clickhouse://me:sesame@h"})
    with pytest.raises(ValidationError, match="clickhouse://user@host:9000/database"):
        BalanceSettings(**table | {"history_clickhouse": 9000})

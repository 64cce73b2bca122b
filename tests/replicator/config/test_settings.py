"""Settings refuse values that cannot work, by name."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from replicator.config.balance_settings import MEMORY_MIB_MIN, BalanceSettings
from replicator.config.settings import (
    SYNCED_CONFIGS,
    TOPIC_CONFIGS,
    MetricsSettings,
    ReplicatorSettings,
    TopicSettings,
)
from replicator.mirror.topics.topic_configs import LARGEST

# -- Settings refuse values that cannot work, by name.


@pytest.mark.parametrize(
    ("value", "start"),
    [
        ("earliest", "earliest"),
        ("latest", "latest"),
        ("1970-01-01T00:00:01+00:00", 1000),
        ("1970-01-01T01:00:01.5+01:00", 1500),
        (datetime(1970, 1, 2, tzinfo=UTC), 86_400_000),
        (1234, 1234),
    ],
)
def test_a_start_is_a_word_or_milliseconds(value: Any, start: Any) -> None:
    assert TopicSettings(start=value).start == start


@pytest.mark.parametrize("value", ["soon", "2026-01-01", "2026-01-01T00:00:00", True, 1.5, None])
def test_a_start_without_a_definite_instant_is_refused(value: Any) -> None:
    with pytest.raises(ValidationError, match="date-time"):
        TopicSettings(start=value)


@pytest.mark.parametrize("value", [-1, 99999999999999999999, "0001-01-01T00:00:00Z"])
def test_a_start_that_is_no_timestamp_of_kafkas_is_refused(value: Any) -> None:
    with pytest.raises(ValidationError, match="an instant from 1970 to 9999"):
        TopicSettings(start=value)


@pytest.mark.parametrize("pattern", ["(a", "(?=a)", r"(.)\1"])
def test_a_pattern_re2_does_not_know_is_refused(pattern: str) -> None:
    with pytest.raises(ValidationError, match="not an RE2 pattern"):
        TopicSettings(deny=(pattern,))


def test_a_refused_pattern_leaves_no_other_noise(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValidationError):
        TopicSettings(allow=("(",))
    assert capfd.readouterr().err == ""


def test_configs_the_target_decides_itself_are_never_synced() -> None:
    assert not {"compression.type", "message.timestamp.type"} & set(SYNCED_CONFIGS)
    for config in ("compression.type", "message.timestamp.type"):
        with pytest.raises(ValidationError, match="never synced"):
            TopicSettings(synced_configs=(config,))


def test_a_config_that_kafka_does_not_know_is_refused() -> None:
    with pytest.raises(ValidationError, match="'retention.mss'; did you mean 'retention.ms'?"):
        TopicSettings(synced_configs=("retention.mss",))
    assert set(TOPIC_CONFIGS) >= LARGEST
    assert TopicSettings(synced_configs=("min.insync.replicas",))


@pytest.mark.parametrize(
    "table",
    [
        {"epoch_seconds": 0.5},
        {"epoch_seconds": 3601},
        {"epoch_seconds": float("nan")},
        {"epoch_seconds": "600"},
        {"window": 6},
        {"window": True},
        {"window": 2.0},
        {"producer_epoch_max": 32767},
        {"fetch_mib": 0},
        {"colour": 1},
    ],
)
def test_a_value_out_of_bounds_or_of_another_type_is_refused(table: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ReplicatorSettings(**table)


def test_settings_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(ValidationError, match=r"drain_seconds: must be below epoch_seconds \(2\)"):
        ReplicatorSettings(epoch_seconds=2, drain_seconds=2)
    with pytest.raises(ValidationError, match="must be below transaction_timeout_ms"):
        ReplicatorSettings(transaction_timeout_ms=15000)


def test_lists_name_what_they_hold_twice() -> None:
    with pytest.raises(ValidationError, match="listed twice: a"):
        TopicSettings(allow=("a", "b", "a"))


def test_metrics_are_off_unless_asked_for_and_local_when_on() -> None:
    assert MetricsSettings().port == 0
    assert MetricsSettings().address == "127.0.0.1"


# -- Balance settings refuse values that cannot work, by name.


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
def test_balance_settings_that_contradict_each_other_are_refused(
    table: dict[str, Any], key: str
) -> None:
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

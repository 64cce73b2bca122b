"""Settings refuse values that cannot work, by name."""

from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import ValidationError

from replicator.config.settings import (
    SYNCED_CONFIGS,
    TOPIC_CONFIGS,
    MetricsSettings,
    ReplicatorSettings,
    TopicSettings,
)
from replicator.mirror.topics.topic_configs import LARGEST


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

"""Health: one word for a partition, a topic or a route, and why in words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.facts.health import (
    FINE,
    ORDER,
    STALLED_SECONDS,
    STALLED_SECONDS_BY_LEDGER,
    Evidence,
    Health,
    Judged,
    partition_health,
    summary,
    worst,
)

MOVING = Evidence(None, None, None, None, 10, 0.5, 0.0, True)


def state(evidence: Evidence, lag_seconds_max: float = 10.0) -> Health:
    return partition_health(evidence, lag_seconds_max)[0]


def test_a_partition_that_moves_is_ok() -> None:
    assert partition_health(MOVING, 10.0) == FINE


def test_a_quiet_partition_is_ok_however_long_nothing_comes() -> None:
    assert partition_health(MOVING._replace(lag_records=0, still_seconds=1e6), 10.0) == FINE


@pytest.mark.parametrize(
    ("evidence", "found", "why"),
    [
        (MOVING._replace(parked="retention passed"), Health.PARKED, "retention passed"),
        (MOVING._replace(paused="paused by alice"), Health.PAUSED, "paused by alice"),
        (MOVING._replace(waits="no answer"), Health.WAITS, "no answer"),
        (MOVING._replace(silence="carrier 3 is silent"), Health.UNKNOWN, "carrier 3 is silent"),
        (MOVING._replace(lag_records=None), Health.UNKNOWN, "its lag is not known"),
        (MOVING._replace(still_seconds=31.4), Health.STALLED, "no progress for 31 s"),
        (MOVING._replace(lag_seconds=12.4), Health.BEHIND, "12 s behind"),
    ],
)
def test_a_state_comes_with_its_reason(evidence: Evidence, found: Health, why: str) -> None:
    assert partition_health(evidence, 10.0) == (found, why)


def test_lag_without_known_seconds_is_no_reason_to_call_it_behind() -> None:
    assert state(MOVING._replace(lag_seconds=None)) is Health.OK


def test_without_reports_a_partition_is_stalled_only_after_the_ledger_was_due() -> None:
    still = MOVING._replace(still_seconds=STALLED_SECONDS + 1, is_reported=False)
    assert state(still) is Health.OK
    assert state(still._replace(still_seconds=STALLED_SECONDS_BY_LEDGER)) is Health.STALLED


def test_an_order_or_a_condition_says_more_than_silence() -> None:
    silent = MOVING._replace(silence="nothing is known", lag_records=None)
    assert state(silent._replace(waits="west does not answer")) is Health.WAITS
    assert state(silent._replace(waits="x", paused="by alice")) is Health.PAUSED
    assert state(silent._replace(paused="by alice", parked="lost")) is Health.PARKED


@given(st.lists(st.sampled_from(Health)))
def test_the_worst_state_is_the_first_in_the_order(states: list[Health]) -> None:
    assert worst(states) == (sorted(states, key=ORDER.__getitem__)[0] if states else None)


def test_a_topic_is_as_its_worst_partition_which_is_named() -> None:
    parts = [
        ("0", FINE),
        ("3", Judged(Health.BEHIND, "12 s behind")),
        ("7", Judged(Health.STALLED, "still")),
    ]
    assert summary("partition", parts) == (Health.STALLED, "7: still")


def test_a_topic_says_how_many_more_partitions_are_in_the_same_state() -> None:
    parts = [(str(number), Judged(Health.STALLED, "still")) for number in range(5)]
    assert summary("partition", parts) == (Health.STALLED, "0: still (and 4 more partitions)")


def test_a_reason_of_the_whole_comes_before_those_of_parts() -> None:
    own = [Judged(Health.WAITS, "west does not answer")]
    assert summary("partition", [("3", Judged(Health.WAITS, "carrier 2 waits"))], own) == (
        Health.WAITS,
        "west does not answer (and 1 more partition)",
    )


def test_nothing_at_all_is_ok() -> None:
    assert summary("partition", []) == FINE

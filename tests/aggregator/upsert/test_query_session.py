"""Settings of a user's session."""

from __future__ import annotations

import pytest

from aggregator.upsert.query_session import RightsMissing, session_settings


def test_a_user_that_may_set_settings_reads_all_rows_and_only_reads() -> None:
    """18.16 refuses each query with sequential consistency once a partition was dropped."""
    found = {"readonly": "0", "select_sequential_consistency": "1", "read_overflow_mode": "break"}
    assert session_settings(found) == {
        "select_sequential_consistency": 0,
        "read_overflow_mode": "throw",
        "readonly": 2,
    }


def test_settings_that_the_server_does_not_have_are_not_sent() -> None:
    assert session_settings({"readonly": "0"}) == {"readonly": 2}


def test_a_profile_that_lets_settings_be_set_but_no_more_keeps_its_own_readonly() -> None:
    found = {"readonly": "2", "extremes": "1", "select_sequential_consistency": "0"}
    assert session_settings(found) == {"extremes": 0}


def test_a_read_only_profile_is_sent_nothing_as_it_would_be_passed_over_in_silence() -> None:
    assert session_settings({"readonly": "1", "select_sequential_consistency": "0"}) == {}


@pytest.mark.parametrize(
    "name",
    [
        "set_overflow_mode",
        "limit",
        "use_query_cache",
        "extremes",
        "select_sequential_consistency",
    ],
)
def test_a_read_only_profile_that_changes_answers_is_refused(name: str) -> None:
    with pytest.raises(RightsMissing, match=f"readonly = 1 and {name} = 1"):
        session_settings({"readonly": "1", name: "1"})

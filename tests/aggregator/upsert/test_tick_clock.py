"""Tests of the clock of ticks; tests/live/test_upsert_store.py has it beside real servers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.upsert.tick_clock import ServerTime, difference_text, differs_seconds_max

DAY = 86_400.0


@given(passed=st.floats(0, 60), ahead=st.floats(-40 * DAY, 40 * DAY))
def test_a_clock_that_was_set_shows_without_asking_a_server_again(passed, ahead):
    server = ServerTime("east-1:9000", unix_seconds=1.7e9, at_seconds=500.0)
    found = server.ahead_seconds(1.7e9 + passed + ahead, 500.0 + passed)
    assert found == pytest.approx(ahead, abs=1e-3)


def test_a_clock_that_is_let_pass_takes_little_of_the_retention():
    assert differs_seconds_max(3600.0, 336.0) == 3600.0
    assert differs_seconds_max(3600.0, 1.0) == 180.0
    assert differs_seconds_max(1.0, 1.0) == 1.0


def test_the_text_names_each_server_and_the_mend():
    times = [ServerTime("east-1:9000", 1.7e9, 0.0), ServerTime("east-2:9000", 1.7e9 + DAY, 0.0)]
    text = difference_text(times, 1.7e9 + 40 * DAY, 0.0)
    assert "3456000 s ahead of east-1:9000, 3369600 s ahead of east-2:9000" in text
    assert "set the clock that is wrong" in text
    assert "3456000 s behind east-1:9000" in difference_text(times, 1.7e9 - 40 * DAY, 0.0)

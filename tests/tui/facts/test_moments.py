"""Moments and counts: how long ago something was, and how many there are."""

import math

from hypothesis import given
from hypothesis import strategies as st

from tui.facts.counted import counted
from tui.facts.moments import (
    UNKNOWN,
    clock_text,
    date_text,
    iso_text,
    iso_zulu_text,
    since_text,
    utc_text,
)

# --- Moments as text: whatever number others have written, there is a text.

NOON = 1_795_262_400.0


def test_a_moment_is_told_in_utc():
    assert clock_text(NOON + 61) == "12:01:01"
    assert date_text(NOON) == "2026-11-21 12:00:00"


def test_a_moment_long_ago_has_its_date():
    assert since_text(NOON, NOON + 60) == "12:00:00Z"
    assert since_text(NOON, NOON + 86_400) == "2026-11-21 12:00:00Z"


def test_what_no_calendar_has_is_unknown():
    for at in (1e18, -1e18, math.inf, math.nan, 1_700_000_000_000_000.0):
        assert (clock_text(at), date_text(at)) == (UNKNOWN, UNKNOWN)


@given(st.floats() | st.integers().map(lambda found: found / 1000 if abs(found) < 2**900 else 0.0))
def test_no_number_is_an_error(at):
    assert clock_text(at) and date_text(at) and since_text(at, NOON)


def test_milliseconds_of_any_size_are_told():
    assert iso_text(950_000) == "1970-01-01T00:15:50+00:00"
    assert iso_zulu_text(950_000) == "1970-01-01T00:15:50Z"
    assert utc_text(950_000) == "1970-01-01 00:15:50Z"
    for at_ms in (2**60, -(2**60), 10**400):
        assert {iso_text(at_ms), iso_zulu_text(at_ms), utc_text(at_ms)} == {UNKNOWN}


# --- Number with its noun.


def test_one_is_singular_and_all_others_are_plural():
    assert counted(1, "group") == "1 group"
    assert counted(0, "group") == "0 groups"
    assert counted(1200, "group") == "1,200 groups"

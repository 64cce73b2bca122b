"""Progress is committed again well before the brokers forget it, whatever the clocks say."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.kafka.client.progress_expiry import ProgressExpiry, age_seconds

NOW_MS = 1_700_000_000_000
DAY = 86_400.0
WEEK = ProgressExpiry(7 * DAY, 7 * DAY, is_known=True)
seconds = st.floats(1, 1e8)


@given(offsets=seconds, ids=seconds)
def test_a_holder_renews_several_times_before_others_do_and_these_before_the_end(offsets, ids):
    expiry = ProgressExpiry(offsets, ids)
    assert not expiry.is_due(expiry.renewal_seconds)
    assert not expiry.is_due(3 * expiry.renewal_seconds, is_held=True)
    assert expiry.is_due(offsets / 2, is_held=True)
    assert expiry.renewal_seconds < ids / 2


@given(age=seconds)
def test_what_is_due_although_it_is_held_is_due_without_a_holder(age):
    assert WEEK.is_due(age) or not WEEK.is_due(age, is_held=True)


@pytest.mark.parametrize(
    ("committed_ms", "seen", "age"),
    [
        (NOW_MS - 5000, 0.0, 5.0),
        (NOW_MS - 5000, 7.0, 7.0),
        (NOW_MS + 3_600_000, 7.0, 7.0),
        (0, 7.0, math.inf),
    ],
    ids=["by its clock", "seen for longer", "a clock that is ahead", "not known"],
)
def test_an_age_is_the_longer_of_what_two_clocks_say(committed_ms, seen, age):
    assert age_seconds(committed_ms, NOW_MS, seen) == age


def test_times_that_no_broker_tells_are_taken_for_a_day():
    assert ProgressExpiry().renewal_seconds < DAY / 4
    assert str(ProgressExpiry()) == "offsets.retention.minutes is not known"
    assert str(WEEK) == "offsets.retention.minutes is 10080"

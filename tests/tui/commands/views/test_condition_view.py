"""Lines of conditions."""

from replicator.notices.condition import Condition
from tui.commands.views.condition_view import condition_line

WAITS = Condition(
    kind="waiting",
    who="loader 1 of flights in west regional",
    text="no intent yet",
    since_ms=950_000,
    feed="flights",
    cluster="west regional",
    topic="flights",
    partition=3,
)


def test_a_condition_says_what_it_is_about_since_when_and_who_found_it():
    assert condition_line(WAITS) == (
        "waiting: flights west regional flights-3: no intent yet "
        "(since 1970-01-01T00:15:50+00:00, says loader 1 of flights in west regional)"
    )


def test_what_a_condition_does_not_name_is_left_out():
    line = condition_line(Condition(kind="paused", who="replicate east", text="", since_ms=0))
    assert line == "paused (since 1970-01-01T00:00:00+00:00, says replicate east)"


def test_a_time_that_no_calendar_has_ends_nothing():
    absurd = Condition(kind="paused", who="replicate east", text="", since_ms=10**18)
    assert condition_line(absurd) == "paused (since ?, says replicate east)"

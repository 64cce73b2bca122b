"""History of routes: an hour by the minute, a minute by partition."""

from dataclasses import replace

import pytest

from balancer.topic_partition import TopicPartition
from tests.tui.facts.route_records import PARTITION, REPORT
from tests.tui.facts.test_routes import partition, topic
from tui.facts.route_view import RouteView
from tui.facts.watch.history import HEARD_SECONDS, MINUTES, History, RouteHistory

START = 1_200_000.0
"""Beginning of a minute."""


def view(lag: int | None, mirrored_to: int | None = 0, rate: float | None = 5.0) -> RouteView:
    one = partition(0, lag_records=lag, mirrored_to=mirrored_to)
    return RouteView(
        route="west>east",
        target="east",
        topics=(topic(one),),
        denied_topics=0,
        problems=(),
        lag_records=lag,
        records_per_second=rate,
    )


def test_at_first_nothing_is_known_of_the_hour() -> None:
    past = RouteHistory().past(START)
    assert past.lag_history == (None,) * MINUTES == past.rate_history
    assert past.lag_at is None


def test_each_minute_has_its_last_lag_and_rate_and_gaps_are_unknown() -> None:
    history = RouteHistory()
    for seconds, lag in ((0, 10), (30, 11), (60, 12), (180, 13)):
        history.add(view(lag, rate=float(lag)), START + seconds)
    past = history.past(START + 180)
    assert past.lag_history[-4:] == (11, 12, None, 13)
    assert past.rate_history[-4:] == (11.0, 12.0, None, 13.0)
    assert len(past.lag_history) == MINUTES


def test_what_is_older_than_an_hour_is_forgotten() -> None:
    history = RouteHistory()
    history.add(view(10), START)
    assert history.past(START + 3540).lag_history[0] == 10
    history.add(view(11), START + 3600)
    assert history.past(START + 3540).lag_history[0] is None


def test_a_lag_that_is_not_known_is_none_in_the_hour() -> None:
    history = RouteHistory()
    history.add(view(10), START)
    history.add(view(None, rate=None), START + 30)
    past = history.past(START + 30)
    assert (past.lag_history[-1], past.rate_history[-1]) == (None, 5.0)


def test_rates_of_before_fill_gaps_alone() -> None:
    history = RouteHistory()
    history.add(view(10, rate=7.0), START)
    minute = int(START // 60)
    history.add_rates({minute: 1.0, minute - 1: 2.0})
    assert history.past(START).rate_history[-2:] == (2.0, 7.0)


def test_a_lag_is_compared_with_that_of_a_minute_ago() -> None:
    history = RouteHistory()
    for seconds in range(0, 181, 2):
        history.add(view(1000 + seconds), START + seconds)
    past = history.past(START + 182)
    assert past.lag_at == pytest.approx(START + 120, abs=10)
    assert past.lags[PARTITION] == 1000 + (past.lag_at or 0) - START


def test_a_lag_of_a_moment_ago_is_nothing_to_compare_with() -> None:
    history = RouteHistory()
    history.add(view(10), START)
    assert history.past(START + 5).lag_at is None
    assert history.past(START + 12).lag_at == START


def test_after_a_long_pause_there_is_nothing_to_compare_with() -> None:
    history = RouteHistory()
    history.add(view(10), START)
    assert history.past(START + 600).lag_at is None


def test_a_partition_with_lag_is_still_since_its_position_was_first_seen() -> None:
    history = RouteHistory()
    for seconds, position in ((0, 5), (10, 7), (20, 7), (30, 7)):
        history.add(view(10, position), START + seconds)
    assert history.past(START + 30).still == {PARTITION: (7, START + 10)}


def test_a_partition_without_lag_is_not_still_however_long_nothing_comes() -> None:
    history = RouteHistory()
    history.add(view(0, 5), START)
    history.add(view(0, 5), START + 60)
    assert history.past(START + 60).still == {}
    history.add(view(3, 5), START + 70)
    assert history.past(START + 70).still == {PARTITION: (5, START + 70)}


def test_after_the_clock_was_set_back_the_minute_begins_again() -> None:
    history = RouteHistory()
    for seconds in (0, 20):
        history.add(view(10, 5), START + seconds)
    for seconds in (0, 20, 40):
        history.add(view(10 + seconds, 5), START - 3600 + seconds)
    past = history.past(START - 3560)
    assert past.still == {PARTITION: (5, START - 3600)}
    assert (past.lag_at, past.lags) == (START - 3600, {PARTITION: 10})
    assert past.lag_history[-1] == 50
    assert history.past(START).lag_history[-1] is None


def test_a_pause_of_the_console_is_no_stall() -> None:
    history = RouteHistory()
    history.add(view(10, 5), START)
    history.add(view(10, 5), START + 600)
    assert history.past(START + 600).still == {PARTITION: (5, START + 600)}


def test_the_last_report_is_remembered_after_it_has_expired() -> None:
    history = RouteHistory()
    report = replace(REPORT, at=START)
    history.hear({PARTITION: report}, START)
    history.hear({}, START + 100)
    assert history.past(START + 100).heard == {PARTITION: report}
    history.hear({TopicPartition("orders", 1): replace(report, at=START + 700)}, START + 700)
    assert PARTITION not in history.past(START + HEARD_SECONDS + 100).heard


def test_routes_have_histories_of_their_own() -> None:
    history = History()
    history.of("west>east").add(view(10), START)
    assert history.of("west>east").past(START).lag_history[-1] == 10
    assert history.of("east>west").past(START).lag_history[-1] is None

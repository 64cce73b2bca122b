"""Windows of an audit, and the offsets of a window."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.audit.window import FULL_MS, SETTLED_MS, BadWindow, Window, iso, window
from replicator.audit.window_offsets import (
    AHEAD_MS,
    OffsetAndTimestamp,
    WindowOffsets,
    window_offsets,
)
from replicator.mirror.offset_map.spans import Span

# -- The window is the one asked for, or the last full ten minutes.

NOW_MS = round(datetime(2026, 11, 22, 3, 14, 5, tzinfo=UTC).timestamp() * 1000)


def test_the_default_is_the_last_full_ten_minutes_that_ended_a_minute_ago() -> None:
    assert str(window(None, None, NOW_MS)) == "2026-11-22T03:00:00Z to 2026-11-22T03:10:00Z"
    just_after = NOW_MS - 3 * 60_000 - 5_000
    assert str(window(None, None, just_after)) == "2026-11-22T03:00:00Z to 2026-11-22T03:10:00Z"
    assert str(window(None, None, just_after - 1)) == "2026-11-22T02:50:00Z to 2026-11-22T03:00:00Z"


@given(st.integers(FULL_MS + SETTLED_MS, 4_000_000_000_000), st.integers(0, FULL_MS))
def test_late_audits_of_a_timer_leave_no_time_out_and_compare_none_twice(
    at_ms: int, late_ms: int
) -> None:
    first, second = window(None, None, at_ms), window(None, None, at_ms + FULL_MS)
    assert second.since_ms == first.until_ms
    later = window(None, None, at_ms + late_ms)
    assert later in (first, second)
    assert first.until_ms + SETTLED_MS <= at_ms < first.until_ms + SETTLED_MS + FULL_MS


@pytest.mark.parametrize(
    ("since", "until", "found"),
    [
        ("10m", None, Window(NOW_MS - 600_000, NOW_MS)),
        ("2h", "90s", Window(NOW_MS - 7_200_000, NOW_MS - 90_000)),
        ("1d", "2026-11-22T03:00:00Z", Window(NOW_MS - 86_400_000, NOW_MS - 845_000)),
        (
            "2026-11-22T04:00:00+02:00",
            "2026-11-22T03:00:00+00:00",
            Window(NOW_MS - 845_000 - 3_600_000, NOW_MS - 845_000),
        ),
    ],
)
def test_durations_and_instants_are_accepted(since: str, until: str | None, found: Window) -> None:
    assert window(since, until, NOW_MS) == found


@pytest.mark.parametrize(
    ("since", "until", "what"),
    [
        (None, "1m", "--until needs --since"),
        ("1m", "10m", "the window is empty"),
        ("0s", None, "the window is empty"),
        ("soon", None, "'soon' is neither a length of time"),
        ("10 m", None, "neither"),
        ("2026-11-22T03:00:00", None, "needs a zone"),
        ("99999d", None, "before 1970"),
    ],
)
def test_a_wrong_window_is_refused_with_the_reason(
    since: str | None, until: str | None, what: str
) -> None:
    with pytest.raises(BadWindow, match=what):
        window(since, until, NOW_MS)


def test_a_time_beyond_the_calendar_is_shown_in_milliseconds() -> None:
    assert iso(2**62) == f"{2**62} ms"


# -- The offsets of a window are those that readers can see, and every doubt is reported.

READ_MS = 1_700_000_000_000


def offsets(begin=None, end=None, *, start=0, stable=100, log_end=100) -> WindowOffsets:
    return window_offsets(
        None if begin is None else OffsetAndTimestamp(begin, READ_MS - 50),
        None if end is None else OffsetAndTimestamp(end, READ_MS - 10),
        log_start=start,
        stable_end=stable,
        log_end=log_end,
        now_ms=READ_MS,
    )


def test_a_span_reaches_from_the_first_record_of_the_window_to_the_first_one_behind_it() -> None:
    assert offsets(40, 60) == WindowOffsets(Span(40, 60))
    assert offsets(40) == WindowOffsets(Span(40, 100))


def test_without_a_record_in_the_window_the_span_is_empty() -> None:
    assert offsets() == WindowOffsets(Span(100, 100))
    # Retention deleted everything, long ago.
    assert offsets(start=100).span == Span(100, 100)


def test_an_open_transaction_holds_back_the_offsets_behind_it() -> None:
    assert offsets(40, 60, stable=50) == WindowOffsets(Span(40, 50), held_back=10)
    assert offsets(40, stable=50) == WindowOffsets(Span(40, 50), held_back=50)
    assert offsets(70, 80, stable=50) == WindowOffsets(Span(50, 50), held_back=10)
    assert offsets(20, 40, stable=50) == WindowOffsets(Span(20, 40))


def test_a_log_that_begins_with_the_window_may_have_lost_some_of_it() -> None:
    assert offsets(40, 60, start=40).log_start == 40
    assert offsets(40, 60, start=39).log_start is None
    assert offsets(1, 60, start=0).log_start is None
    assert offsets(0, 60, start=0).log_start is None


def test_a_record_with_a_future_timestamp_hides_the_records_behind_it() -> None:
    future = OffsetAndTimestamp(60, READ_MS + AHEAD_MS + 1)
    found = window_offsets(future, future, log_start=0, stable_end=100, log_end=100, now_ms=READ_MS)
    assert (found.span, found.unordered) == (Span(60, 60), 40)
    assert found.note.startswith("source offset 60 has the time 2023-11-14T22:23:20Z")
    soon = OffsetAndTimestamp(60, READ_MS + AHEAD_MS)
    assert not window_offsets(
        soon, soon, log_start=0, stable_end=100, log_end=100, now_ms=READ_MS
    ).unordered

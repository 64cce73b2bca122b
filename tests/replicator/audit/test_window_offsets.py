"""The offsets of a window are those that readers can see, and every doubt is reported."""

from replicator.audit.window_offsets import (
    AHEAD_MS,
    OffsetAndTimestamp,
    WindowOffsets,
    window_offsets,
)
from replicator.mirror.offset_map.spans import Span

NOW_MS = 1_700_000_000_000


def offsets(begin=None, end=None, *, start=0, stable=100, log_end=100) -> WindowOffsets:
    return window_offsets(
        None if begin is None else OffsetAndTimestamp(begin, NOW_MS - 50),
        None if end is None else OffsetAndTimestamp(end, NOW_MS - 10),
        log_start=start,
        stable_end=stable,
        log_end=log_end,
        now_ms=NOW_MS,
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
    future = OffsetAndTimestamp(60, NOW_MS + AHEAD_MS + 1)
    found = window_offsets(future, future, log_start=0, stable_end=100, log_end=100, now_ms=NOW_MS)
    assert (found.span, found.unordered) == (Span(60, 60), 40)
    assert found.note.startswith("source offset 60 has the time 2023-11-14T22:23:20Z")
    soon = OffsetAndTimestamp(60, NOW_MS + AHEAD_MS)
    assert not window_offsets(
        soon, soon, log_start=0, stable_end=100, log_end=100, now_ms=NOW_MS
    ).unordered

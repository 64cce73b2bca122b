"""Lag is never below the truth by more than one look, whoever looked, and never negative."""

import json
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.mirror.ledger.sightings import (
    FRESH_MS,
    INTERVAL_MS,
    PACKED_BYTES_MAX,
    Ends,
    Sighting,
    high_ends,
    lag_at_most,
    lag_seconds,
    packed,
    stable_ends,
    unpacked,
)

INTERVAL_SECONDS = INTERVAL_MS / 1000
YEARS_2013_MS = -400_000_000_000


@dataclass(frozen=True)
class Step:
    """Events between two looks, and the carrier that looks then."""

    pause_ms: int
    arrivals: tuple[float, ...]
    mirrored_part: float
    is_handed_on: bool


steps = st.builds(
    Step,
    # Mostly a second; now and then nobody looks for minutes.
    st.integers(1, INTERVAL_MS) | st.integers(INTERVAL_MS, 600_000),
    st.lists(st.floats(0, 1, exclude_min=True), max_size=4).map(lambda each: tuple(sorted(each))),
    st.floats(0, 1),
    st.booleans(),
)


def played(play):
    """Yields (sightings kept, mirrored offset, arrival times, now) after each look."""
    now, mirrored, arrivals = 0, 0, []
    seen = [Sighting(0, 0, 0, 0)]
    for step in play:
        arrivals += [now + round(part * step.pause_ms) for part in step.arrivals]
        now += step.pause_ms
        end = len(arrivals)
        if seen[-1].stable == end:
            seen[-1] = seen[-1]._replace(last_ms=now)
        else:
            seen.append(Sighting(now, now, end, end))
        mirrored += int((end - mirrored) * step.mirrored_part)
        if step.is_handed_on:
            seen = list(unpacked(json.loads(json.dumps(packed(seen)))))
        yield seen, mirrored, arrivals, now


@given(st.lists(steps, max_size=40), st.none() | st.just(YEARS_2013_MS))
def test_lag_is_never_below_the_truth_by_more_than_a_look_and_never_negative(play, written_ms):
    for seen, mirrored, arrivals, now in played(play):
        found = lag_seconds(stable_ends(seen), mirrored, now, written_ms)
        truth = (now - arrivals[mirrored]) / 1000 if mirrored < len(arrivals) else 0.0
        assert found is not None and found >= 0
        assert round(found * 1000) >= round(truth * 1000) - INTERVAL_MS
        if mirrored == len(arrivals):
            assert found == 0


@given(st.lists(steps, max_size=40))
def test_a_true_timestamp_makes_lag_exact_whichever_carrier_looked(play):
    for seen, mirrored, arrivals, now in played(play):
        if mirrored < len(arrivals):
            truth = (now - arrivals[mirrored]) / 1000
            ends = stable_ends(seen)
            assert lag_seconds(ends, mirrored, now, arrivals[mirrored]) == truth


@given(st.lists(steps, max_size=40), st.none() | st.integers(-(2**40), 2**40))
def test_a_move_lowers_lag_by_less_than_a_look(play, written_ms):
    for seen, mirrored, _, now in played(play):
        before = lag_seconds(stable_ends(seen), mirrored, now, written_ms)
        kept = unpacked(packed(seen))
        after = lag_seconds(stable_ends(kept), mirrored, now, written_ms)
        assert before is not None and after is not None
        is_believed = written_ms is not None and 0 <= written_ms <= now
        assert is_believed or after > before - INTERVAL_SECONDS


@given(st.lists(steps, max_size=40))
def test_no_timestamp_makes_lag_longer_than_since_the_last_look_without_the_record(play):
    seen, looks, now, end = [Sighting(0, 0, 0, 0)], [(0, 0)], 0, 0
    for step in play:
        now += step.pause_ms
        end += len(step.arrivals)
        looks.append((now, end))
        seen.append(Sighting(now, now, end, end))
        for mirrored in range(end):
            unseen = max(at for at, there in looks if there <= mirrored)
            for written_ms in (None, YEARS_2013_MS, now + 10**9):
                found = lag_seconds(stable_ends(seen), mirrored, now, written_ms)
                assert found is not None and found <= (now - unseen) / 1000


def test_back_dated_records_do_not_lag_for_years():
    ends = [Ends(0, 5000, 10), Ends(6000, 9000, 20)]
    assert lag_seconds(ends, 15, 9000, YEARS_2013_MS) == 3.0
    assert lag_seconds(ends, 15, 9000, 5400) == 3.6


def test_after_an_outage_a_back_dated_record_counts_from_its_begin():
    ends = [Ends(0, 5000, 10), Ends(605_000, 605_000, 20)]
    assert lag_seconds(ends, 10, 605_000, YEARS_2013_MS) == 599.0
    assert lag_seconds(ends, 10, 605_000, 600_000) == 5.0


def test_a_record_seen_at_the_very_first_look_lags_since_then():
    ends = [Ends(1000, 9000, 10)]
    assert lag_seconds(ends, 3, 9000, YEARS_2013_MS) == 8.0


def test_without_a_fresh_sighting_lag_is_unknown_and_not_zero():
    ends = [Ends(0, 5000, 10)]
    assert lag_seconds([], 0, 1) is None
    assert lag_seconds(ends, 10, 5000 + FRESH_MS) == 0.0
    assert lag_seconds(ends, 10, 5001 + FRESH_MS) is None
    assert lag_seconds(ends, 9, 60_000) == 60.0


def test_a_caller_that_sees_the_end_now_gets_an_upper_bound():
    ends = [Ends(0, 5000, 10)]
    assert lag_at_most(ends, 10, 10, 60_000) == 0.0
    assert lag_at_most(ends, 10, 11, 60_000) == 54.0
    assert lag_at_most(ends, 9, 11, 60_000) == 60.0
    assert lag_at_most([], 9, 11, 60_000) is None


def test_records_of_an_open_transaction_lag_behind_the_high_watermark_only():
    seen = [Sighting(0, 1000, 10, 10), Sighting(2000, 9000, 10, 15)]
    assert lag_seconds(stable_ends(seen), 10, 9000) == 0.0
    assert lag_seconds(high_ends(seen), 10, 9000) == 7.0


@given(
    st.lists(
        st.tuples(*[st.integers(0, 2**41)] * 2, *[st.integers(0, 2**62)] * 2),
        max_size=30,
    )
)
def test_packed_sightings_fit_into_an_entry_and_come_back_ascending(rows):
    seen, time_ms, stable, high = [], 0, 0, 0
    for later, lasted, more, unstable in rows:
        stable = min(stable + more, 2**62)
        high = max(high, min(stable + unstable, 2**62))
        time_ms = min(time_ms + later, 2**42)
        last_ms = min(time_ms + lasted // 2**41, 2**42)
        seen.append(Sighting(time_ms, last_ms, stable, high))
        time_ms = last_ms
    numbers = packed(seen)
    assert len(json.dumps(numbers, separators=(",", ":"))) <= PACKED_BYTES_MAX
    kept = unpacked(numbers)
    assert set(kept) <= set(seen)
    if seen:
        assert kept[0] == seen[0] and kept[-1] == seen[-1]


@pytest.mark.parametrize("numbers", [None, "1", [1, 2, 3, "4"], [1, -2, 3, 4], [[1]], {"a": 1}])
def test_numbers_of_another_form_are_no_sightings(numbers):
    assert unpacked(numbers) == ()

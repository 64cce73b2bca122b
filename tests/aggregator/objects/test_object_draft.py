"""Object drafts: what is read of an object, where it ends, and the digest of its records."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, time
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from aggregator.objects.object_draft import ObjectDraft
from aggregator.objects.record_digest import RecordDigest
from aggregator.objects.rotation import NO_TIME, Ending, Rotation
from tests.aggregator.files.written_files import CUTS, RECORDS, slices
from tests.aggregator.objects.object_life import Logged, Part
from tests.replicator.batches.source_batches import Record

# -- Object drafts: what went in is handed out once, and counted.

SIZED = st.lists(st.tuples(st.integers(NO_TIME, 5), st.integers(1, 9)), min_size=1, max_size=9)


@given(st.lists(st.tuples(SIZED, st.booleans()), min_size=1, max_size=5))
def test_records_are_counted_and_taken_once(batches):
    draft: ObjectDraft[Part] = ObjectDraft(0, 0.0)
    added, taken, offset = [], [], 0
    for batch, is_taken in batches:
        part = Part(tuple(Logged(offset + at, "a", *each) for at, each in enumerate(batch)))
        draft.append(part)
        added += part.records
        offset += len(batch)
        if is_taken:
            taken += [each for part in draft.take() for each in part.records]
            assert draft.size_bytes == 0
    assert (draft.records, draft.end) == (len(added), offset)
    assert draft.input_bytes == sum(each.size for each in added)
    times = [each.timestamp_ms for each in added if each.timestamp_ms != NO_TIME]
    assert draft.first_ms == (times[0] if times else NO_TIME)
    assert draft.size_bytes == sum(each.size for each in added[len(taken) :])
    taken += [each for part in draft.take() for each in part.records]
    assert taken == added


def test_a_draft_is_taken_once_it_has_ended_and_nothing_is_left():
    draft: ObjectDraft[Part] = ObjectDraft(0, 0.0)
    draft.append(Part((Logged(0, "a"),)))
    draft.take()
    assert not draft.is_taken
    draft.append(Part((Logged(1, "a"),)))
    draft.ending = Ending.AGE
    assert not draft.is_taken
    draft.take()
    assert draft.is_taken


@given(st.lists(SIZED, min_size=1, max_size=6), st.integers(0, 60))
def test_records_are_taken_up_to_so_much_memory_and_one_record_in_any_case(batches, bytes_max):
    draft: ObjectDraft[Part] = ObjectDraft(0, 0.0)
    parts, offset = [], 0
    for batch in batches:
        parts.append(Part(tuple(Logged(offset + at, "a", *each) for at, each in enumerate(batch))))
        draft.append(parts[-1])
        offset += len(batch)
    taken = []
    while found := draft.take(bytes_max):
        size = sum(part.size_bytes for part in found)
        assert size <= bytes_max or sum(len(part.records) for part in found) == 1
        taken += found
        assert draft.size_bytes == draft.buffered.size_bytes
    assert [it for part in taken for it in part.records] == [
        it for part in parts for it in part.records
    ]
    assert draft.size_bytes == 0


def test_a_draft_that_is_cut_ends_behind_what_was_taken():
    draft: ObjectDraft[Part] = ObjectDraft(0, 0.0)
    first, second = (Part((Logged(at, "a", 5, 3), Logged(at + 1, "a", 5, 4))) for at in (0, 7))
    draft.append(first)
    draft.take()
    draft.append(second)
    assert draft.cut() == [second]
    assert (draft.begin, draft.end, draft.records, draft.input_bytes) == (0, 2, 2, 7)
    assert (draft.size_bytes, draft.buffered.size_bytes, draft.cut()) == (0, 0, [])


# -- Rotation: an object ends where the first of its limits is reached.

BERLIN = ZoneInfo("Europe/Berlin")
SIZES = st.lists(st.integers(1, 9), min_size=1, max_size=12)
LIMIT = st.none() | st.integers(2, 30)


@given(LIMIT, LIMIT, st.data(), SIZES)
def test_an_object_takes_records_up_to_the_one_that_reaches_a_limit(records, size, data, more):
    before = data.draw(st.integers(0, (records or 9) - 1))
    bytes_before = data.draw(st.integers(0, (size or 9) - 1))
    taken, ending = 0, None
    total = bytes_before
    for each in more:
        taken, total = taken + 1, total + each
        if records is not None and before + taken >= records:
            ending = Ending.RECORDS
        elif size is not None and total >= size:
            ending = Ending.BYTES
        if ending:
            break
    rotation = Rotation(records_max=records, bytes_max=size)
    assert rotation.room(before, bytes_before, np.array(more, np.int64)) == (taken, ending)


@pytest.mark.parametrize(
    ("interval", "first", "times", "at"),
    [
        (10, 100, [100, 109, 110, 90, 200], 2),
        (10, 100, [99, 109], None),
        (10, 100, [], None),
        (10, 100, [NO_TIME, 110], 1),
        (10, NO_TIME, [110], None),
        (None, 100, [1000], None),
    ],
)
def test_record_time_ends_an_object_before_the_first_record_that_is_too_young(
    interval, first, times, at
):
    rotation = Rotation(interval_ms=interval)
    assert rotation.first_beyond(first, np.array(times, np.int64)) == at


def test_an_object_ends_at_its_age():
    rotation = Rotation(age_seconds=60.0)
    assert rotation.ending_by_clock(100.0, 159.9) is None
    assert rotation.ending_by_clock(100.0, 160.0) is Ending.AGE


@pytest.mark.parametrize(
    ("since", "now", "ending"),
    [
        ("2026-11-26T05:59:59", "2026-11-26T06:00:00", Ending.TIME_OF_DAY),
        ("2026-11-26T06:00:01", "2026-11-26T17:59:59", None),
        ("2026-11-26T06:00:01", "2026-11-26T18:00:00", Ending.TIME_OF_DAY),
        ("2026-11-26T18:00:01", "2026-11-27T05:59:59", None),
        ("2026-11-25T17:00:00", "2026-11-26T05:00:00", Ending.TIME_OF_DAY),
        ("2026-03-28T23:00:00", "2026-03-29T06:00:00", Ending.TIME_OF_DAY),
        ("2026-10-25T05:00:00", "2026-10-25T05:59:59", None),
    ],
)
def test_an_object_ends_at_times_of_day_in_the_zone(since, now, ending):
    rotation = Rotation(times_of_day=(time(6), time(18)), zone=BERLIN)
    begin, end = (
        datetime.fromisoformat(each).replace(tzinfo=BERLIN).timestamp() for each in (since, now)
    )
    assert rotation.ending_by_clock(begin, end) is ending


# -- Record digests: the same for the same records however they come in, and another for others.


def digest(parts):
    found = RecordDigest()
    for part in parts:
        found.add([part])
    return found


@given(RECORDS, CUTS)
def test_a_digest_does_not_depend_on_how_records_come_in(records, cuts):
    assert digest(slices(records, cuts)) == digest(slices(records))


@given(RECORDS, RECORDS)
def test_other_records_have_another_digest(records, others):
    assume(records != others)
    assert digest(slices(records)).text != digest(slices(others)).text


@given(RECORDS)
def test_a_field_that_becomes_null_or_moves_to_another_changes_the_digest(records):
    first = replace(records[0], key=b"key", value=records[0].value or b"value")
    records[0] = first
    for other in (
        replace(first, key=None),
        replace(first, value=None),
        replace(first, key=b""),
        replace(first, key=first.key + first.value, value=b""),
        replace(first, timestamp=first.timestamp + 1),
    ):
        assert digest(slices([other, *records[1:]])).text != digest(slices(records)).text


@given(RECORDS)
def test_a_digest_knows_the_least_and_the_greatest_time(records):
    known = [each.timestamp for each in records if each.timestamp != -1]
    found = digest(slices(records))
    assert (found.records, found.first_ms, found.last_ms) == (
        len(records),
        min(known, default=-1),
        max(known, default=-1),
    )


def test_times_before_1970_are_times():
    """A restore of these times left their object out when they counted as none."""
    records = [Record(at, ms, None, b"v", ()) for at, ms in enumerate((-5000, -1, -20))]
    found = digest(slices(records))
    assert (found.first_ms, found.last_ms) == (-5000, -20)
    found = digest(slices([*records, Record(3, 7, None, b"v", ())]))
    assert (found.first_ms, found.last_ms) == (-5000, 7)

"""Object drafts: what went in is handed out once, and counted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from aggregator.objects.object_draft import ObjectDraft
from aggregator.objects.rotation import NO_TIME, Ending
from tests.aggregator.objects.object_life import Logged, Part

RECORDS = st.lists(st.tuples(st.integers(NO_TIME, 5), st.integers(1, 9)), min_size=1, max_size=9)


@given(st.lists(st.tuples(RECORDS, st.booleans()), min_size=1, max_size=5))
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


@given(st.lists(RECORDS, min_size=1, max_size=6), st.integers(0, 60))
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

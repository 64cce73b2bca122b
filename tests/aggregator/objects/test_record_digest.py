"""Record digests: the same for the same records however they come in, and another for others."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import assume, given

from aggregator.objects.record_digest import RecordDigest
from tests.aggregator.files.written_files import CUTS, RECORDS, slices
from tests.replicator.batches.source_batches import Record


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

"""Admission: each record is in the file, left out or a dead letter, by itself alone."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from aggregator.files.admission import Admission, tombstones
from aggregator.formats.json_flaws import json_flaws
from tests.aggregator.files.written_files import CUTS, RECORDS, slices
from tests.aggregator.formats.slices import slice_of

VALUES = st.lists(st.sampled_from([None, b"", b"{}", b"no", b"1", b'"x"', b"{"]), min_size=1)


def is_json(value):
    try:
        json.loads(value)
    except ValueError:
        return False
    return True


@given(VALUES, st.sampled_from(["written", "left_out", "dead_letters"]))
def test_each_record_is_in_the_file_left_out_or_dead(values, way):
    checks = (json_flaws, tombstones) if way == "dead_letters" else (json_flaws,)
    found = Admission(checks, way == "left_out")(slice_of(values, first=5))
    kept = [
        at
        for at, value in enumerate(values, 5)
        if (way == "written" if value is None else is_json(value))
    ]
    dead = [
        at
        for at, value in enumerate(values, 5)
        if (way == "dead_letters" if value is None else not is_json(value))
    ]
    assert found.records.offset.tolist() == kept
    assert [each.offset for each in found.dead] == dead
    assert [at for part in found.letters for at in part.offset.tolist()] == dead
    reasons = {values[each.offset - 5]: each.reason for each in found.dead}
    assert reasons.get(None) in (None, "a tombstone")


@given(RECORDS, CUTS)
def test_letters_are_the_records_and_keep_no_other_bytes(records, cuts):
    for part in slices(records, cuts):
        found = Admission((lambda some: dict.fromkeys(range(0, len(some), 2), "even"),))(part)
        [letters] = found.letters
        wanted = [records[at] for at in part.offset[::2].tolist()]
        assert [letters.key_at(at) for at in range(len(letters))] == [each.key for each in wanted]
        assert [letters.value_at(at) for at in range(len(letters))] == [r.value for r in wanted]
        assert [letters.headers_at(at) for at in range(len(letters))] == [r.headers for r in wanted]
        assert letters.timestamp_ms.tolist() == [each.timestamp for each in wanted]
        # Lengths stand between the fields.
        assert len(letters.data) <= int(letters.record_bytes.sum()) + 5 * len(letters)


def test_the_first_check_that_refuses_a_record_gives_the_reason():
    admission = Admission((lambda _: {0: "first"}, lambda _: {0: "second", 1: "second"}))
    found = admission(slice_of([b"a", b"b", b"c"]))
    assert [each.reason for each in found.dead] == ["first", "second"]
    assert found.records.offset.tolist() == [2]

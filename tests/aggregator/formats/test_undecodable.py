"""Records at which a decoder fails are dead; all others are decoded as if these were not there."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.formats.json_documents import decode
from aggregator.formats.record_slice import RecordSlice
from aggregator.formats.undecodable import SettingAside
from aggregator.tables.decoded import Decoded
from aggregator.tables.table_schema import TableSchema
from tests.aggregator.formats.slices import slice_of, table

SCHEMA = table(a="UInt64")


def failing(slices: Sequence[RecordSlice], schema: TableSchema) -> Decoded:
    """Decodes JSON, and fails where any record holds a word."""
    values = [part.value_at(at) for part in slices for at in range(len(part))]
    if any(b"poison" in (value or b"") for value in values):
        raise OverflowError("poison")
    return decode(slices, schema)


def document(at: int, *, is_poison: bool) -> bytes:
    return b'"poison"' if is_poison else b'{"a":%d}' % at


@given(st.lists(st.booleans(), max_size=40), st.integers(0, 40))
def test_the_others_are_decoded_and_the_failing_ones_are_named(poison, split_at):
    values = [document(at, is_poison=bad) for at, bad in enumerate(poison)]
    parts = [values[:split_at], values[split_at:]]
    slices = [
        slice_of(part, first=at) for at, part in zip((0, split_at), parts, strict=True) if part
    ]
    found = SettingAside(failing)(slices, SCHEMA)
    good = [at for at, bad in enumerate(poison) if not bad]
    assert found.offset.tolist() == good
    assert [record.offset for record in found.dead] == [at for at, bad in enumerate(poison) if bad]
    assert all("OverflowError: poison" in record.reason for record in found.dead)
    if good:
        assert found.columns["a"].to_pylist() == good


def test_a_failure_at_no_single_record_is_raised():
    def together(slices: Sequence[RecordSlice], schema: TableSchema) -> Decoded:
        if sum(map(len, slices)) > 1:
            raise ValueError("two are too many")
        return decode(slices, schema)

    with pytest.raises(ValueError, match="two are too many"):
        SettingAside(together)([slice_of([b'{"a":1}', b'{"a":2}'])], SCHEMA)


def test_what_the_decoder_sets_aside_itself_stays_in_order():
    values = [b'"poison"', b"broken", b'{"a":1}', b'"poison"']
    found = SettingAside(failing)([slice_of(values)], SCHEMA)
    assert [record.offset for record in found.dead] == [0, 1, 3]
    assert found.offset.tolist() == [2]

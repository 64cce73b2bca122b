"""Required values: an optional record that is null is read as null, whatever its type requires."""

from __future__ import annotations

import datetime
import io
import json
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregator.files.datum_columns import DatumColumns
from aggregator.files.document_columns import DocumentColumns
from aggregator.files.required_values import with_required
from aggregator.files.typed_parquet import TypedParquet
from aggregator.schemas.known_schemas import KnownSchemas
from tests.aggregator.files.schema_records import file_of
from tests.aggregator.formats.datums import encoded
from tests.aggregator.formats.slices import slice_of

DAY = datetime.date(2013, 7, 1)
LEAVES = {
    pa.int32(): st.integers(-5, 5),
    pa.float64(): st.floats(-5, 5),
    pa.bool_(): st.booleans(),
    pa.string(): st.text("aé", max_size=3),
    pa.binary(): st.binary(max_size=3),
    pa.binary(2): st.binary(min_size=2, max_size=2),
    pa.date32(): st.just(DAY),
    pa.decimal128(10, 2): st.just(Decimal("1.25")),
}


def _structs(parts):
    """Returns struct types with their values, of fields that may be required."""
    named = st.lists(st.tuples(st.booleans(), parts), min_size=1, max_size=3)
    return named.map(
        lambda found: (
            pa.struct(
                [
                    pa.field(f"f{at}", kind, nullable=is_nullable)
                    for at, (is_nullable, (kind, _)) in enumerate(found)
                ]
            ),
            st.fixed_dictionaries(
                {
                    f"f{at}": (st.none() | values) if is_nullable else values
                    for at, (is_nullable, (_, values)) in enumerate(found)
                }
            ),
        )
    )


def _lists(parts):
    return st.tuples(st.booleans(), parts).map(
        lambda found: (
            pa.list_(pa.field("element", found[1][0], nullable=found[0])),
            st.lists((st.none() | found[1][1]) if found[0] else found[1][1], max_size=2),
        )
    )


def _maps(parts):
    return st.tuples(st.booleans(), parts).map(
        lambda found: (
            pa.map_(pa.string(), pa.field("value", found[1][0], nullable=found[0])),
            st.lists(
                st.tuples(
                    st.sampled_from("xyz"), (st.none() | found[1][1]) if found[0] else found[1][1]
                ),
                max_size=2,
                unique_by=lambda pair: pair[0],
            ),
        )
    )


KINDS = st.recursive(
    st.sampled_from([*LEAVES.items()]),
    lambda parts: _structs(parts) | _lists(parts) | _maps(parts),
    max_leaves=6,
)


@given(_structs(KINDS), st.data())
@settings(max_examples=150, deadline=None)
def test_what_is_written_is_read_whatever_is_null(made, data):
    kind, values = made
    rows = data.draw(st.lists(st.none() | values, min_size=1, max_size=5))
    cut = data.draw(st.integers(0, len(rows) - 1))
    column = pa.array(rows, kind).slice(cut)
    # As a decoder spreads values over their records.
    spread = column.take(pa.array([*range(len(column)), None], pa.int64()))
    for each, wanted in ((column, rows[cut:]), (spread, [*rows[cut:], None])):
        out = io.BytesIO()
        made_table = pa.Table.from_arrays([with_required(each)], schema=pa.schema([("c", kind)]))
        pq.write_table(made_table, out)
        found = pq.read_table(io.BytesIO(out.getvalue()))["c"].to_pylist()
        assert found == pa.array(wanted, kind).to_pylist()


def test_a_required_field_that_is_null_in_a_record_is_still_refused():
    kind = pa.struct([pa.field("id", pa.int32(), nullable=False)])
    column = with_required(pa.array([{"id": 1}, {"id": None}, None], kind))
    with pytest.raises(pa.ArrowInvalid, match="non-nullable"):
        pq.write_table(pa.table({"c": column}), io.BytesIO())


ROW = {"type": "record", "name": "Row", "fields": [{"name": "id", "type": "int"}]}
ENVELOPE = {
    "type": "record",
    "name": "Envelope",
    "fields": [
        {"name": "before", "type": ["null", ROW], "default": None},
        {"name": "after", "type": ["null", "Row"], "default": None},
        {"name": "source", "type": {"type": "record", "name": "Source", "fields": [
            {"name": "version", "type": "string"}]}},
    ],
}  # fmt: skip
SOURCE = {"source": {"version": "1"}}
CHANGES = [
    {"before": None, "after": {"id": 1}, **SOURCE},
    {"before": {"id": 1}, "after": {"id": 2}, **SOURCE},
    None,
    {"before": {"id": 2}, "after": None, **SOURCE},
]


@pytest.mark.parametrize("made", [DatumColumns, DocumentColumns])
def test_envelopes_of_changes_are_rows_and_so_are_tombstones(made):
    """Each insert has `before` null: it stopped its loader for ever."""
    known = KnownSchemas({"t.avsc": json.dumps(ENVELOPE).encode()})
    of_json = made is DocumentColumns
    values = [
        None if each is None else json.dumps(each).encode() if of_json else encoded(ENVELOPE, each)
        for each in CHANGES
    ]
    writer = TypedParquet(made(known, "t"), "t", 0, columns=["offset"], codec="none")
    found = pq.read_table(io.BytesIO(file_of(writer, slice_of(values)))).to_pylist()
    nothing = {"before": None, "after": None, "source": None}
    assert [{name: row[name] for name in nothing} for row in found] == [
        each or nothing for each in CHANGES
    ]
